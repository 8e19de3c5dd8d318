//! Rules: CEL expressions that say yes or no.
//!
//! Compiled when the file is loaded. Bounded at both ends: the text in length, nesting and loops,
//! the input in the number of its values, so that no rule hangs. A rule that fails is an error and
//! never an answer; what that means is for whoever asked.

use std::collections::{BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, LazyLock};

use cel::common::ast::operators::{INDEX, OPT_INDEX, OPT_SELECT};
use cel::common::ast::{EntryExpr, Expr, LiteralValue};
use cel::{Context, Env, IdedExpr, Program};
use serde_json::Value;

use super::problem::nearest;
use crate::limits::{
    RULE_BRACKETS_MAX, RULE_BYTES_MAX, RULE_COMPILE_STACK_BYTES, RULE_DEPTH_MAX, RULE_LOOPS_MAX,
    RULE_STEPS_MAX, RULE_VALUES_MAX,
};

/// Why a rule gave no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the rule `{rule}` could not be evaluated: {message}")]
pub struct RuleError {
    /// Its source.
    pub rule: String,
    /// What went wrong.
    pub message: String,
}

/// The functions and types that every rule may use: made once, they are the dearest part of a look.
static STDLIB: LazyLock<Arc<Env>> = LazyLock::new(|| Arc::new(Env::stdlib()));

/// A compiled rule.
#[derive(Debug)]
pub struct Rule {
    source: String,
    program: Program,
    loops: usize,
}

impl Rule {
    /// Compiles a rule that may read `variables`, or says what is wrong with it.
    pub(crate) fn compile(source: &str, variables: &[&str]) -> Result<Self, String> {
        if RULE_BYTES_MAX < source.len() {
            return Err(format!("the rule is longer than {RULE_BYTES_MAX} bytes"));
        }
        if source.trim().is_empty() {
            return Err("the rule is empty".to_owned());
        }
        // Counted without regard to quotes and comments: a bound must not depend on reading them
        // as the parser does.
        if RULE_BRACKETS_MAX < source.matches(['(', '[', '{']).count() {
            return Err(format!(
                "the rule has more than {RULE_BRACKETS_MAX} brackets; split it"
            ));
        }
        let variables: Vec<String> = variables.iter().map(|name| (*name).to_owned()).collect();
        let source = source.to_owned();
        // On a stack of its own, see the bound. The parser is generated code that has panicked on
        // odd input before; a panic ends that thread only.
        std::thread::Builder::new()
            .stack_size(RULE_COMPILE_STACK_BYTES)
            .spawn(move || compile(source, &variables))
            .map_err(|error| format!("no thread to compile the rule in: {error}"))?
            .join()
            .unwrap_or_else(|_| Err("the rule is not a CEL expression".to_owned()))
    }

    /// Its text.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The members of a variable that it names: `name.member`, `name["member"]`.
    pub(crate) fn members_of(&self, name: &str) -> BTreeSet<String> {
        let paths = self.paths_of(name).into_iter();
        paths.filter_map(|path| path.into_iter().next()).collect()
    }

    /// What it reads of a variable, each as a path below it: empty where it is the variable as a whole. What
    /// is told only when the rule is evaluated (`args[name]`) is cut before that.
    pub(crate) fn paths_of(&self, name: &str) -> Vec<Vec<String>> {
        let mut found = Vec::new();
        paths_of(self.program.expression(), name, &mut found);
        found
    }

    /// Whether it holds. The input is given by name.
    pub(crate) fn holds(&self, input: &[(&str, &Value)]) -> Result<bool, RuleError> {
        let fail = |message: String| RuleError {
            rule: self.source.clone(),
            message,
        };
        let values: usize = input.iter().map(|(_, value)| count(value)).sum();
        let steps =
            u32::try_from(self.loops).map_or(usize::MAX, |loops| values.saturating_pow(loops));
        if RULE_VALUES_MAX < values || RULE_STEPS_MAX < steps {
            return Err(fail(format!("its input is too large ({values} values)")));
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut context = Context::with_env(Arc::clone(&STDLIB));
            for (name, value) in input {
                context.add_variable_from_value(*name, to_cel(value));
            }
            self.program.execute(&context)
        }));
        match outcome {
            Ok(Ok(cel::Value::Bool(answer))) => Ok(answer),
            Ok(Ok(other)) => Err(fail(format!(
                "it gives a value of type {}, not yes or no",
                other.type_of()
            ))),
            Ok(Err(error)) => Err(fail(shorten(&error.to_string()))),
            Err(_) => Err(fail("the evaluation failed inside".to_owned())),
        }
    }
}

fn compile(source: String, variables: &[String]) -> Result<Rule, String> {
    let program = Program::compile(&source).map_err(|errors| {
        let first = errors.errors.first();
        let text = first.map_or_else(|| errors.to_string(), |error| error.msg.clone());
        // The slip that is made most often; what the parser says of it helps nobody.
        let hint = if text.contains("token recognition error at: '= '") {
            " (== compares)"
        } else {
            ""
        };
        format!("the rule is not a CEL expression: {}{hint}", shorten(&text))
    })?;
    let shape = Shape::of(program.expression());
    if RULE_DEPTH_MAX < shape.depth {
        return Err(format!(
            "the rule is nested more than {RULE_DEPTH_MAX} deep; split it into several"
        ));
    }
    if RULE_LOOPS_MAX < shape.loops {
        return Err(format!(
            "the rule has more than {RULE_LOOPS_MAX} loops inside one another"
        ));
    }
    let references = program.references();
    if let Some(function) = references
        .functions()
        .into_iter()
        .find(|name| !known_function(name))
    {
        return Err(format!("there is no function {function}"));
    }
    let mut names: Vec<&str> = references.variables();
    names.sort_unstable();
    let known = |name: &str| {
        variables.iter().any(|variable| variable == name)
            || shape.bound.iter().any(|bound| bound == name)
            || name.starts_with('@')
    };
    if let Some(name) = names.into_iter().find(|name| !known(name)) {
        let suggestion = nearest(name, variables.iter().map(String::as_str))
            .map_or_else(String::new, |near| format!("; did you mean {near}?"));
        let there = variables.join(", ");
        return Err(format!(
            "there is no {name} here, a rule reads {there}{suggestion}"
        ));
    }
    let loops = shape.loops;
    Ok(Rule {
        source,
        program,
        loops,
    })
}

/// A JSON value as CEL sees it. Whole numbers are `int`, all others `double`.
fn to_cel(value: &Value) -> cel::Value {
    match value {
        Value::Null => cel::Value::Null,
        Value::Bool(flag) => cel::Value::Bool(*flag),
        Value::Number(number) => number.as_i64().map_or_else(
            || cel::Value::Float(number.as_f64().unwrap_or(f64::NAN)),
            cel::Value::Int,
        ),
        Value::String(text) => cel::Value::String(Arc::new(text.clone())),
        Value::Array(items) => cel::Value::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(map) => {
            let map: HashMap<String, cel::Value> = map
                .iter()
                .map(|(key, value)| (key.clone(), to_cel(value)))
                .collect();
            cel::Value::Map(map.into())
        }
    }
}

/// How many values a value consists of.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(map) => map.values().map(count).sum(),
        Value::String(text) => text.len() / 64,
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}

/// What the evaluation of an expression costs.
#[derive(Default)]
struct Shape {
    /// How deep its tree is.
    depth: usize,
    /// How many loops are inside one another.
    loops: usize,
    /// The names that loops bind.
    bound: Vec<String>,
}

impl Shape {
    fn of(node: &IdedExpr) -> Self {
        let mut shape = Self::default();
        for part in parts(node) {
            shape.add(Self::of(part), 0);
        }
        if let Expr::Comprehension(one) = &node.expr {
            shape.add(Self::of(&one.loop_cond), 1);
            shape.add(Self::of(&one.loop_step), 1);
            shape
                .bound
                .extend([one.iter_var.clone(), one.accu_var.clone()]);
            shape.bound.extend(one.iter_var2.clone());
        }
        shape.depth += 1;
        shape
    }

    fn add(&mut self, part: Self, loops: usize) {
        self.depth = self.depth.max(part.depth);
        self.loops = self.loops.max(part.loops + loops);
        self.bound.extend(part.bound);
    }
}

/// What an expression is made of, but for what a loop does each time.
fn parts(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Select(select) => vec![&select.operand],
        Expr::Call(call) => call.args.iter().chain(call.target.as_deref()).collect(),
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => entries(&map.entries),
        Expr::Struct(fields) => entries(&fields.entries),
        Expr::Comprehension(one) => vec![&one.iter_range, &one.accu_init, &one.result],
    }
}

fn paths_of(node: &IdedExpr, name: &str, found: &mut Vec<Vec<String>>) {
    if let Some(path) = path_of(node, name) {
        found.push(path);
        return;
    }
    let mut all = parts(node);
    if let Expr::Comprehension(one) = &node.expr {
        all.extend([&one.loop_cond, &one.loop_step]);
    }
    for part in all {
        paths_of(part, name, found);
    }
}

/// The path below a variable that an expression is, where it is nothing else.
fn path_of(node: &IdedExpr, name: &str) -> Option<Vec<String>> {
    let (operand, member) = match &node.expr {
        Expr::Ident(other) if other.trim_start_matches('.') == name => return Some(Vec::new()),
        Expr::Select(select) => (select.operand.as_ref(), select.field.clone()),
        Expr::Call(call) if [INDEX, OPT_INDEX, OPT_SELECT].contains(&call.func_name.as_str()) => {
            match call.args.as_slice() {
                [operand, member] => (operand, literal(member)?),
                _ => return None,
            }
        }
        _ => return None,
    };
    let mut path = path_of(operand, name)?;
    path.push(member);
    Some(path)
}

/// The member that an index names, where that stands in the rule itself.
fn literal(node: &IdedExpr) -> Option<String> {
    match &node.expr {
        Expr::Literal(LiteralValue::String(name)) => Some(name.inner().to_owned()),
        Expr::Literal(LiteralValue::Int(place)) => Some(place.inner().to_string()),
        Expr::Literal(LiteralValue::UInt(place)) => Some(place.inner().to_string()),
        _ => None,
    }
}

fn entries(entries: &[cel::common::ast::IdedEntryExpr]) -> Vec<&IdedExpr> {
    entries
        .iter()
        .flat_map(|entry| match &entry.expr {
            EntryExpr::StructField(field) => vec![&field.value],
            EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        })
        .collect()
}

fn known_function(name: &str) -> bool {
    // Operators are functions with names such as `_>_`, `!_` and `@in`.
    let operator = name.starts_with(['_', '!', '-', '@']);
    operator
        || [
            "size",
            "contains",
            "startsWith",
            "endsWith",
            "matches",
            "string",
            "int",
            "uint",
            "double",
            "bool",
            "bytes",
            "duration",
            "timestamp",
            "type",
            "dyn",
            "has",
            "max",
            "min",
            "getFullYear",
            "getMonth",
            "getDate",
            "getDayOfMonth",
            "getDayOfWeek",
            "getDayOfYear",
            "getHours",
            "getMinutes",
            "getSeconds",
            "getMilliseconds",
        ]
        .contains(&name)
}

/// Errors of the interpreter quote values, which may be long.
fn shorten(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let mut short: String = text.chars().take(CHARS_MAX).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}
