//! Works out sums.

/// The value of a sum.
pub fn eval(text: &str) -> Result<i64, String> {
    let mut value = 0;
    let mut operator = '+';
    for word in text.split_whitespace() {
        match word.parse::<i64>() {
            Ok(number) => match operator {
                '+' => value += number,
                '-' => value -= number,
                '*' => value *= number,
                '/' => value /= number,
                '%' => value %= number,
                other => return Err(format!("no such operator: {other}")),
            },
            Err(_) => operator = word.chars().next().unwrap(),
        }
    }
    Ok(value)
}
