//! Works out sums.

const DEEPEST: usize = 200;

/// The value of a sum.
pub fn eval(text: &str) -> Result<i64, String> {
    let mut sum = Sum { rest: text, depth: 0 };
    let value = sum.terms()?;
    match sum.peek() {
        None => Ok(value),
        Some(c) => Err(format!("{c} is not expected here")),
    }
}

struct Sum<'a> {
    rest: &'a str,
    depth: usize,
}

impl Sum<'_> {
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn next(&mut self) {
        let mut chars = self.rest.chars();
        chars.next();
        self.rest = chars.as_str();
    }

    fn terms(&mut self) -> Result<i64, String> {
        let mut value = self.factors()?;
        while let Some(operator @ ('+' | '-')) = self.peek() {
            self.next();
            let other = self.factors()?;
            let result = if operator == '+' { value.checked_add(other) } else { value.checked_sub(other) };
            value = result.ok_or("too large")?;
        }
        Ok(value)
    }

    fn factors(&mut self) -> Result<i64, String> {
        let mut value = self.signed()?;
        while let Some(operator @ ('*' | '/' | '%')) = self.peek() {
            self.next();
            let other = self.signed()?;
            let result = match operator {
                '*' => value.checked_mul(other),
                '/' => value.checked_div(other),
                _ => value.checked_rem(other),
            };
            value = result.ok_or("too large, or a division by zero")?;
        }
        Ok(value)
    }

    fn signed(&mut self) -> Result<i64, String> {
        if self.peek() != Some('-') {
            return self.power();
        }
        self.next();
        let value = self.deeper(Self::signed)?;
        value.checked_neg().ok_or_else(|| "too large".to_owned())
    }

    fn power(&mut self) -> Result<i64, String> {
        let base = self.single()?;
        if self.peek() != Some('^') {
            return Ok(base);
        }
        self.next();
        let exponent = self.deeper(Self::power)?;
        let exponent = u32::try_from(exponent).map_err(|_| "no such power")?;
        base.checked_pow(exponent).ok_or_else(|| "too large".to_owned())
    }

    fn single(&mut self) -> Result<i64, String> {
        match self.peek() {
            Some('(') => {
                self.next();
                let value = self.deeper(Self::terms)?;
                if self.peek() != Some(')') {
                    return Err("a parenthesis is not closed".to_owned());
                }
                self.next();
                Ok(value)
            }
            Some(c) if c.is_ascii_digit() => {
                let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at(end);
                self.rest = rest;
                number.parse().map_err(|_| format!("{number} is too large"))
            }
            Some(c) => Err(format!("{c} is not expected here")),
            None => Err("the sum ends too early".to_owned()),
        }
    }

    fn deeper(&mut self, part: fn(&mut Self) -> Result<i64, String>) -> Result<i64, String> {
        if self.depth == DEEPEST {
            return Err("nested too deeply".to_owned());
        }
        self.depth += 1;
        let value = part(self);
        self.depth -= 1;
        value
    }
}
