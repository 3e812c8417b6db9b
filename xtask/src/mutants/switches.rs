//! All mutants of a file in one text, each behind a switch that is set when the program runs.
//!
//! A build for each mutant would take hours. Here an operator becomes a choice between itself and what could stand
//! for it, a function begins with a choice of what it could return instead, and so on; the switch that is set says
//! which. What is not set is as it was. Only text is put in, and no line break, so that every line keeps its number.

use std::collections::HashMap;
use std::ops::Range;

use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr, UnOp};

use super::list::{Genre, Mutant, Place};
use crate::Outcome;

/// The function that says whether the switch of this number is set, and the variable that it reads.
pub(super) const SWITCH: &str = "#[doc(hidden)] #[allow(clippy::all, missing_docs, clippy::disallowed_methods)] \
    pub fn __mutant(number: usize) -> bool { static SET: std::sync::OnceLock<usize> = std::sync::OnceLock::new(); \
    *SET.get_or_init(|| std::env::var(\"XTASK_MUTANT\").ok().and_then(|n| n.parse().ok()).unwrap_or(0)) == number }\n";
/// The variable that says which switch is set.
pub(super) const VARIABLE: &str = "XTASK_MUTANT";

/// A text in which mutants can be switched on.
pub(super) struct Switched {
    pub(super) text: String,
    /// What was put in, and for which mutant if it is for one alone.
    pieces: Vec<(Range<usize>, Option<usize>)>,
    /// From where to where something was put in, and for which mutants.
    sites: Vec<(Range<usize>, Vec<usize>)>,
}

/// Whom an error of the compiler is about.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Culprit {
    /// What this mutant is: it does not compile.
    Mutant(usize),
    /// What one of these needs to be switched: without a switch it may compile.
    Switch(Vec<usize>),
}

impl Switched {
    /// Which mutant an error at this place comes from.
    pub(super) fn culprit(&self, at: &Range<usize>) -> Option<Culprit> {
        let piece = self.pieces.iter().find(|(range, _)| range.contains(&at.start) && at.end <= range.end);
        if let Some((_, Some(mutant))) = piece {
            return Some(Culprit::Mutant(*mutant));
        }
        let around = self.sites.iter().filter(|(range, _)| range.start <= at.start && at.end <= range.end);
        around.min_by_key(|(range, _)| range.len()).map(|(_, mutants)| Culprit::Switch(mutants.clone()))
    }
}

/// Those that have no switch.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Left {
    /// They compile in no way.
    pub(super) impossible: Vec<usize>,
    /// The compiler must know which it is.
    pub(super) fixed: Vec<usize>,
}

/// Puts switches for these mutants of one file into its text. A mutant's number is what the switch is set to. Those
/// that cannot be switched are left out.
pub(super) fn switched<'a>(
    text: &'a str,
    mutants: impl Iterator<Item = (usize, &'a Mutant)>,
) -> Outcome<(Switched, Left)> {
    let file = syn::parse_file(text).map_err(|e| format!("cannot read the text that has mutants: {e}"))?;
    let mut at: HashMap<(Genre, Place), Vec<(usize, &Mutant)>> = HashMap::new();
    for (number, mutant) in mutants {
        at.entry((mutant.genre, mutant.span.start)).or_default().push((number, mutant));
    }
    let mut visitor =
        Visitor { text, at, edits: Vec::new(), sites: 0, constant: false, impossible: Vec::new() };
    visitor.visit_file(&file);
    let fixed = visitor.at.values().flatten().map(|(number, _)| *number).collect();
    Ok((apply(text, visitor.edits), Left { impossible: visitor.impossible, fixed }))
}

/// Something that is put in.
#[derive(Default)]
struct Edit {
    /// Where, and what of the text it stands for.
    range: Range<usize>,
    /// The text, and which parts of it are for one mutant alone.
    parts: Vec<Part>,
    /// What belongs together.
    site: usize,
    /// Whether it stands at the end of what it encloses.
    closes: bool,
    /// All that can be switched there.
    mutants: Vec<usize>,
}

fn opens(range: Range<usize>, text: impl Into<String>) -> Edit {
    Edit { range, parts: vec![plain(text)], ..Edit::default() }
}

fn closes(at: usize, parts: Vec<Part>) -> Edit {
    Edit { range: at..at, parts, closes: true, ..Edit::default() }
}

struct Visitor<'a> {
    text: &'a str,
    at: HashMap<(Genre, Place), Vec<(usize, &'a Mutant)>>,
    edits: Vec<Edit>,
    sites: usize,
    /// Whether this is evaluated by the compiler, which has no switches.
    constant: bool,
    impossible: Vec<usize>,
}

fn place(span: proc_macro2::Span) -> Place {
    let start = span.start();
    Place { line: start.line, column: start.column + 1 }
}

fn asks(number: usize) -> String {
    format!("crate::__mutant({number})")
}

type Part = (String, Option<usize>);

fn plain(text: impl Into<String>) -> Part {
    (text.into(), None)
}

impl<'a> Visitor<'a> {
    fn take(&mut self, genre: Genre, span: proc_macro2::Span) -> Vec<(usize, &'a Mutant)> {
        if self.constant {
            return Vec::new();
        }
        self.at.remove(&(genre, place(span))).unwrap_or_default()
    }

    /// Puts in what belongs together: a beginning, perhaps something for an operator, an end.
    fn put(&mut self, mutants: &[(usize, &Mutant)], edits: Vec<Edit>) {
        self.sites += 1;
        let site = self.sites;
        let mutants: Vec<usize> = mutants.iter().map(|(number, _)| *number).collect();
        self.edits.extend(edits.into_iter().map(|edit| Edit { site, mutants: mutants.clone(), ..edit }));
    }

    fn body(&mut self, sig: &syn::Signature, block: &syn::Block) {
        let Some(first) = block.stmts.first().map(Spanned::span) else { return };
        // What only says what it can do is one type, and another one would be returned.
        if self.text.get(sig.output.span().byte_range()).is_some_and(|output| output.contains("impl ")) {
            return;
        }
        let mutants = self.take(Genre::FnValue, first);
        if mutants.is_empty() {
            return;
        }
        let returns = |(number, mutant): &(usize, &Mutant)| {
            let text = mutant.replacement.replace('\n', " ");
            (format!("if {} {{ return {text}; }} ", asks(*number)), Some(*number))
        };
        let start = first.byte_range().start;
        let parts = mutants.iter().map(returns).collect();
        self.put(&mutants, vec![Edit { range: start..start, parts, ..Edit::default() }]);
    }

    /// What stands in a function that the compiler runs cannot be switched.
    fn within(&mut self, constant: bool, visit: impl FnOnce(&mut Self)) {
        let outer = self.constant;
        self.constant |= constant;
        visit(self);
        self.constant = outer;
    }
}

/// The choice between what could stand for an operator and the operator, of two operands that have names.
fn choice(mutants: &[(usize, &Mutant)], operator: &str, left: &str, right: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    for (number, mutant) in mutants {
        parts.push(plain(format!("if {} ", asks(*number))));
        parts.push((format!("{{ {left} {} {right} }}", mutant.replacement), Some(*number)));
        parts.push(plain(" else "));
    }
    parts.push(plain(format!("{{ {left} {operator} {right} }}")));
    parts
}

fn chosen(before: &str, choice: Vec<Part>) -> Vec<Part> {
    std::iter::once(plain(before)).chain(choice).chain([plain(" })")]).collect()
}

/// The second operand is looked at only where it was, or where it would be if the other operator stood there.
fn joined(mutants: &[(usize, &Mutant)], sign: &str) -> (&'static str, String, Vec<Part>) {
    let asked: String = mutants.iter().map(|(number, _)| asks(*number)).collect();
    let (then, end) = match sign {
        "&&" => (" { ", " } else { __left } })"),
        _ => (" { __left } else { ", " } })"),
    };
    ("({ let __left: bool = ", format!("; if __left ^ {asked}{then}"), vec![plain(end)])
}

/// Whether a `let` is one of the conditions that are joined here.
fn joins_let(binary: &syn::ExprBinary) -> bool {
    let is_let = |expr: &Expr| match expr {
        Expr::Let(_) => true,
        Expr::Binary(inner) => joins_let(inner),
        _ => false,
    };
    matches!(binary.op, BinOp::And(_)) && (is_let(&binary.left) || is_let(&binary.right))
}

fn operator(op: &BinOp) -> (&'static str, Kind) {
    use Kind::{Assigns, Compares, Computes, Joins};
    match op {
        BinOp::And(_) => ("&&", Joins),
        BinOp::Or(_) => ("||", Joins),
        BinOp::Eq(_) => ("==", Compares),
        BinOp::Ne(_) => ("!=", Compares),
        BinOp::Lt(_) => ("<", Compares),
        BinOp::Le(_) => ("<=", Compares),
        BinOp::Gt(_) => (">", Compares),
        BinOp::Ge(_) => (">=", Compares),
        BinOp::Add(_) => ("+", Computes),
        BinOp::Sub(_) => ("-", Computes),
        BinOp::Mul(_) => ("*", Computes),
        BinOp::Div(_) => ("/", Computes),
        BinOp::Rem(_) => ("%", Computes),
        BinOp::BitAnd(_) => ("&", Computes),
        BinOp::BitOr(_) => ("|", Computes),
        BinOp::BitXor(_) => ("^", Computes),
        BinOp::Shl(_) => ("<<", Computes),
        BinOp::Shr(_) => (">>", Computes),
        BinOp::AddAssign(_) => ("+=", Assigns),
        BinOp::SubAssign(_) => ("-=", Assigns),
        BinOp::MulAssign(_) => ("*=", Assigns),
        BinOp::DivAssign(_) => ("/=", Assigns),
        BinOp::RemAssign(_) => ("%=", Assigns),
        BinOp::BitAndAssign(_) => ("&=", Assigns),
        BinOp::BitOrAssign(_) => ("|=", Assigns),
        BinOp::BitXorAssign(_) => ("^=", Assigns),
        BinOp::ShlAssign(_) => ("<<=", Assigns),
        BinOp::ShrAssign(_) => (">>=", Assigns),
        _ => ("", Computes),
    }
}

/// What an operator does with its operands.
enum Kind {
    /// Looks at the second only if the first does not decide.
    Joins,
    /// Looks at both.
    Compares,
    /// Takes both.
    Computes,
    /// Changes the first.
    Assigns,
}

impl<'ast> Visit<'ast> for Visitor<'_> {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.within(item.sig.constness.is_some(), |visitor| {
            visitor.body(&item.sig, &item.block);
            visit::visit_item_fn(visitor, item);
        });
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.within(item.sig.constness.is_some(), |visitor| {
            visitor.body(&item.sig, &item.block);
            visit::visit_impl_item_fn(visitor, item);
        });
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.within(item.sig.constness.is_some(), |visitor| {
            item.default.iter().for_each(|block| visitor.body(&item.sig, block));
            visit::visit_trait_item_fn(visitor, item);
        });
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.within(true, |visitor| visit::visit_item_const(visitor, item));
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.within(true, |visitor| visit::visit_impl_item_const(visitor, item));
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.within(true, |visitor| visit::visit_item_static(visitor, item));
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        let mut mutants = self.take(Genre::BinaryOperator, binary.op.span());
        // What is joined to a `let` can be joined by nothing else.
        if joins_let(binary) {
            self.impossible.extend(mutants.drain(..).map(|(number, _)| number));
        }
        let (left, right) = (binary.left.span().byte_range(), binary.right.span().byte_range());
        let (sign, kind) = operator(&binary.op);
        if mutants.is_empty() {
            visit::visit_expr_binary(self, binary);
        } else if let Kind::Assigns = kind {
            // The place is written in each branch, and evaluated in one.
            let place = self.text.get(left.clone()).unwrap_or_default().replace('\n', " ");
            let mut end = vec![plain(" { __right => ")];
            end.extend(choice(&mutants, sign, &place, "__right"));
            end.push(plain(" }"));
            self.put(&mutants, vec![opens(left.start..right.start, "match "), closes(right.end, end)]);
            self.visit_expr(&binary.right);
        } else {
            let (start, middle, end) = match kind {
                Kind::Joins => joined(&mutants, sign),
                Kind::Compares => {
                    let choice = choice(&mutants, sign, "*__left", "*__right");
                    ("(match (&(", "), &(".to_owned(), chosen(")) { (__left, __right) => ", choice))
                }
                Kind::Computes | Kind::Assigns => {
                    let choice = choice(&mutants, sign, "__left", "__right");
                    ("(match (", ", ".to_owned(), chosen(") { (__left, __right) => ", choice))
                }
            };
            let edits = vec![
                opens(left.start..left.start, start),
                opens(left.end..right.start, middle),
                closes(right.end, end),
            ];
            self.put(&mutants, edits);
            visit::visit_expr_binary(self, binary);
        }
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let mutants = self.take(Genre::UnaryOperator, unary.op.span());
        let (sign, operand) = (unary.op.span().byte_range(), unary.expr.span().byte_range());
        if let Some((number, _)) = mutants.first() {
            let asked = asks(*number);
            let edits = if let UnOp::Neg(_) = unary.op {
                let choice = format!(" {{ __right => if {asked} {{ __right }} else {{ -__right }} }})");
                vec![opens(sign.start..operand.start, "(match "), closes(operand.end, vec![plain(choice)])]
            } else {
                let start = format!("({asked} ^ ");
                vec![opens(sign.start..sign.start, start), closes(operand.end, vec![plain(")")])]
            };
            self.put(&mutants, edits);
        }
        visit::visit_expr_unary(self, unary);
    }

    /// If too little is matched without the arms that can be left out, the compiler says so of what is matched.
    fn visit_expr_match(&mut self, expr: &'ast syn::ExprMatch) {
        let arms = expr.arms.iter().filter_map(|arm| self.at.get(&(Genre::MatchArm, place(arm.span()))));
        let mutants: Vec<_> = arms.flatten().copied().collect();
        if !self.constant && !mutants.is_empty() {
            let matched = expr.expr.span().byte_range();
            let edits = vec![opens(matched.start..matched.start, ""), closes(matched.end, Vec::new())];
            self.put(&mutants, edits);
        }
        visit::visit_expr_match(self, expr);
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        let mutants = self.take(Genre::MatchArm, arm.span());
        if let Some((number, _)) = mutants.first() {
            let end = arm.pat.span().byte_range().end;
            self.put(&mutants, vec![opens(end..end, format!(" if !{} ", asks(*number)))]);
        }
        if let Some((_, guard)) = &arm.guard {
            let mutants = self.take(Genre::MatchArmGuard, guard.span());
            if !mutants.is_empty() {
                let asked = |value: &str| {
                    let of = mutants.iter().find(|(_, mutant)| mutant.replacement == value);
                    of.map_or_else(|| "false".to_owned(), |(number, _)| asks(*number))
                };
                let range = guard.span().byte_range();
                let start = format!("{} || !{} && (", asked("true"), asked("false"));
                self.put(
                    &mutants,
                    vec![opens(range.start..range.start, start), closes(range.end, vec![plain(")")])],
                );
            }
        }
        visit::visit_arm(self, arm);
    }
}

/// Puts in what is to be put in.
fn apply(text: &str, mut edits: Vec<Edit>) -> Switched {
    // Where several meet, what was open is closed first, the inner before the outer; then the outer begins.
    edits.sort_by_key(|edit| {
        let site = i64::try_from(edit.site).unwrap_or(i64::MAX);
        (edit.range.start, !edit.closes, if edit.closes { -site } else { site })
    });
    let mut switched = Switched { text: String::new(), pieces: Vec::new(), sites: Vec::new() };
    let mut sites: HashMap<usize, (Range<usize>, Vec<usize>)> = HashMap::new();
    let mut done = 0;
    for edit in edits {
        switched.text.push_str(text.get(done..edit.range.start).unwrap_or_default());
        let start = switched.text.len();
        for (part, mutant) in edit.parts {
            let from = switched.text.len();
            switched.text.push_str(&part);
            switched.pieces.push((from..switched.text.len(), mutant));
        }
        let breaks = text.get(edit.range.clone()).unwrap_or_default().matches('\n').count();
        switched.text.extend(std::iter::repeat_n('\n', breaks));
        done = edit.range.end;
        let site = sites.entry(edit.site).or_insert_with(|| (start..start, edit.mutants));
        site.0.end = switched.text.len();
    }
    switched.text.push_str(text.get(done..).unwrap_or_default());
    switched.sites = sites.into_values().collect();
    switched
}

#[cfg(test)]
mod tests;
