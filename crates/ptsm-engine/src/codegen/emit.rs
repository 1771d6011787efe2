//! From operations to the text of kernels.
//!
//! A value stands at a fixed place in its replica's memory, so a kernel needs the start of that memory and nothing else. Operations
//! whose work one block of threads can do are strung together in one kernel, with barriers where they touch the same; the others get a
//! kernel of their own.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::Precision;
use crate::cost::Cost;

/// What every source begins with.
pub(crate) const PRELUDE: &[&str] = &[
    include_str!("text/common.cu"),
    include_str!("text/elementwise.cu"),
    include_str!("text/layout.cu"),
    include_str!("text/reduce.cu"),
    include_str!("text/variance.cu"),
    include_str!("text/norm.cu"),
    include_str!("text/loss.cu"),
    include_str!("text/matmul.cu"),
    include_str!("text/conv.cu"),
    include_str!("text/lags.cu"),
    include_str!("text/update.cu"),
];

/// What follows where tensor cores are used.
pub(crate) const TENSOR: &str = include_str!("text/tensor.cu");

/// Threads of a block that does several small operations.
const BLOCK: usize = 512;
/// Threads of a block where many share an operation.
const SHARED: usize = 256;
/// More elementary operations than this are worth a kernel of their own.
const SMALL: usize = 512;

/// One call of a function of the prelude, and who makes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Work {
    pub(crate) call: String,
    /// Blocks and threads; none for one block that may do other work before and after.
    pub(crate) grid: Option<(usize, usize)>,
    /// The operation it is of.
    pub(crate) kind: &'static str,
    pub(crate) cost: Cost,
    pub(crate) uses: SlotUses,
    /// Whether the function has barriers of its own.
    pub(crate) shared: bool,
    /// How to fuse it with its neighbours, where every thread makes numbers from numbers.
    pub(crate) pointwise: Option<Pointwise>,
}

/// A result whose numbers are made one by one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pointwise {
    /// Numbers of the result.
    n: usize,
    operands: Vec<OperandSource>,
    /// What makes number `i`; `$0`, `$1` stand for the operands.
    expression: String,
    out: String,
}

/// A value that a result is made from.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct OperandSource {
    /// Where it stands.
    pub(crate) place: String,
    /// Which of its numbers makes number `i`; none for number `i`.
    pub(crate) index: Option<String>,
}

impl Pointwise {
    /// Whether a thread that has made its numbers of `group` may go on with these, without waiting for other threads: what others make is not
    /// read, and what others may still read is not written.
    fn joins(&self, group: &[&Pointwise]) -> bool {
        let elsewhere =
            |of: &Pointwise, place: &str| of.operands.iter().any(|o| o.index.is_some() && o.place == place);
        group
            .iter()
            .all(|other| other.n == self.n && !elsewhere(self, &other.out) && !elsewhere(other, &self.out))
    }
}

/// One loop over the numbers of several results. What one makes the next ones have at hand.
fn fused(group: &[&Pointwise]) -> String {
    let mut text = format!("POINTWISE(i, {}) {{", group[0].n);
    for (k, one) in group.iter().enumerate() {
        let mut expression = one.expression.clone();
        for (j, operand) in one.operands.iter().enumerate() {
            let at_hand = group[..k].iter().rposition(|other| other.out == operand.place);
            let value = match (&operand.index, at_hand) {
                (None, Some(made)) => format!("v{made}"),
                (None, None) => format!("{}[i]", operand.place),
                (Some(index), _) => format!("{}[{index}]", operand.place),
            };
            expression = expression.replace(&format!("${j}"), &value);
        }
        // Writing to a string cannot fail.
        let _ = write!(text, " float v{k} = {expression}; {}[i] = v{k};", one.out);
    }
    text + " }"
}

/// Puts neighbours together that need not wait for each other.
fn fuse(works: &[Work]) -> Vec<Work> {
    let mut all: Vec<Work> = vec![];
    let mut rest = works;
    while let Some(first) = rest.first() {
        let mut group: Vec<&Pointwise> = first.pointwise.iter().collect();
        while let Some(next) = rest.get(group.len()).and_then(|work| work.pointwise.as_ref())
            && !group.is_empty()
            && next.joins(&group)
        {
            group.push(next);
        }
        let (own, others) = rest.split_at(group.len().max(1));
        rest = others;
        let mut work = first.clone();
        if !group.is_empty() {
            let part = |of: fn(&SlotUses) -> &Vec<usize>| {
                own.iter().flat_map(|work| of(&work.uses)).copied().collect()
            };
            work.call = fused(&group);
            work.uses = SlotUses { reads: part(|uses| &uses.reads), writes: part(|uses| &uses.writes) };
            work.cost = own.iter().map(|work| work.cost).sum();
        }
        all.push(work);
    }
    all
}

/// Which slots of a replica's memory are read and written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SlotUses {
    pub(crate) reads: Vec<usize>,
    pub(crate) writes: Vec<usize>,
}

/// What an operation tells the GPU to do.
pub(crate) struct Emit<'a> {
    /// Shapes of the inputs.
    pub(crate) shapes: &'a [&'a [usize]],
    /// Shape of the result.
    pub(crate) shape: &'a [usize],
    /// Where the inputs, the result and the workspace stand.
    pub(crate) inputs: &'a [String],
    pub(crate) out: &'a str,
    pub(crate) work: &'a str,
    pub(crate) precision: Precision,
    /// What the operation is called, and what it costs at least.
    pub(crate) kind: &'static str,
    pub(crate) cost: Cost,
    pub(crate) uses: SlotUses,
    pub(crate) found: &'a mut Vec<Work>,
}

impl Emit<'_> {
    /// Threads share the work, whose elementary operations are counted; `at` tells a thread which it is.
    pub(crate) fn each(&mut self, threads: usize, operations: usize, call: String) {
        let grid = (operations > SMALL).then(|| (threads.div_ceil(SHARED).clamp(1, 4096), SHARED));
        self.push(call, grid, self.cost);
    }

    /// Every number of the result made by itself: by an expression of CUDA with `$0`, `$1` for the operands and `i` for which number it is.
    /// Neighbours of the same length are fused.
    pub(crate) fn pointwise(&mut self, operands: Vec<OperandSource>, expression: String) {
        let n = self.length();
        let made = Pointwise { n, operands, expression, out: self.out.into() };
        self.each(n, n, fused(&[&made]));
        if let Some(work) = self.found.last_mut() {
            work.pointwise = Some(made);
        }
    }

    /// Operands whose number `i` makes number `i` of the result.
    pub(crate) fn same(&self) -> Vec<OperandSource> {
        self.inputs.iter().map(|place| OperandSource { place: place.clone(), index: None }).collect()
    }

    /// As [`each`](Self::each), before or after the operation proper: so many numbers are read, one is written by each thread.
    pub(crate) fn aside(&mut self, threads: usize, operations: usize, call: String) {
        let grid = (operations > SMALL).then(|| (threads.div_ceil(SHARED).clamp(1, 4096), SHARED));
        self.push(call, grid, Cost::new::<f32>(0, operations + threads));
    }

    /// By one block; the function may use barriers.
    pub(crate) fn block(&mut self, call: String) {
        self.push(call, None, self.cost);
        if let Some(work) = self.found.last_mut() {
            work.shared = true;
        }
    }

    /// By blocks whose number the function counts on.
    pub(crate) fn grid(&mut self, blocks: usize, threads: usize, call: String) {
        self.push(call, Some((blocks, threads)), self.cost);
    }

    fn push(&mut self, call: String, grid: Option<(usize, usize)>, cost: Cost) {
        let uses = self.uses.clone();
        self.found.push(Work { call, grid, kind: self.kind, cost, uses, shared: false, pointwise: None });
    }

    /// The operation's inputs, written as arguments.
    pub(crate) fn arguments(&self) -> String {
        self.inputs.join(", ")
    }

    /// Number of elements of the result.
    pub(crate) fn length(&self) -> usize {
        self.shape.iter().product()
    }
}

/// A number as CUDA reads it.
pub(crate) fn number(x: f64) -> String {
    match x {
        _ if x == f64::INFINITY => "INFINITE".into(),
        _ if x == f64::NEG_INFINITY => "-INFINITE".into(),
        _ => format!("{x:e}f"),
    }
}

/// Which number of a value makes number `i` of one with these axes, where a step along each axis is so many numbers; none where it is
/// number `i` itself.
pub(crate) fn index(sizes: &[usize], steps: &[usize]) -> Option<String> {
    let mut terms = vec![];
    let mut inner = 1;
    let mut same = true;
    for (&size, &step) in sizes.iter().zip(steps).rev() {
        if size > 1 {
            same &= step == inner;
            let count = if inner * size == sizes.iter().product::<usize>() {
                String::new()
            } else {
                format!(" % {size}")
            };
            if step > 0 {
                terms.push(format!("i / {inner}{count} * {step}"));
            }
        }
        inner *= size;
    }
    match (same, terms.is_empty()) {
        (true, _) => None,
        (false, true) => Some("0".into()),
        (false, false) => Some(terms.join(" + ")),
    }
}

/// A kernel of a program: blocks for each replica, threads of a block.
#[derive(Clone, Debug)]
pub(crate) struct Kernel {
    pub(crate) blocks: usize,
    pub(crate) threads: usize,
    /// The operation, or `several`.
    pub(crate) kind: &'static str,
    /// For one replica.
    pub(crate) cost: Cost,
    pub(crate) uses: SlotUses,
}

/// The kernels of a list of works, in their order, numbered from `first` on; `strides` are the sizes of a replica's memory, tensors and
/// optimizer, `replicas` the byte of the table at which they are described.
pub(crate) fn kernels(
    works: &[Work],
    strides: [usize; 3],
    replicas: usize,
    first: usize,
) -> Vec<(Kernel, String)> {
    let works = fuse(works);
    let mut found: Vec<(Kernel, String)> = vec![];
    let mut open: Option<Vec<&Work>> = None;
    let close = |open: &mut Option<Vec<&Work>>, found: &mut Vec<(Kernel, String)>| {
        if let Some(works) = open.take() {
            let body = strung(&works);
            let kind = if let [one] = works[..] { one.kind } else { "several" };
            let cost = works.iter().map(|work| work.cost).sum();
            let all = |of: fn(&SlotUses) -> &Vec<usize>| {
                works.iter().flat_map(|work| of(&work.uses)).copied().collect()
            };
            let uses = SlotUses { reads: all(|uses| &uses.reads), writes: all(|uses| &uses.writes) };
            let kernel = Kernel { blocks: 1, threads: BLOCK, kind, cost, uses };
            let text = kernel_text(first + found.len(), BLOCK, &body, strides, replicas);
            found.push((kernel, text));
        }
    };
    for work in &works {
        match work.grid {
            None => open.get_or_insert_default().push(work),
            Some((blocks, threads)) => {
                close(&mut open, &mut found);
                let (kind, cost, uses) = (work.kind, work.cost, work.uses.clone());
                let text = kernel_text(first + found.len(), threads, &work.call, strides, replicas);
                found.push((Kernel { blocks, threads, kind, cost, uses }, text));
            }
        }
    }
    close(&mut open, &mut found);
    found
}

/// The calls of one block, a barrier wherever one touches what was touched since the last. Functions that have barriers inside use memory
/// that the block shares, and stand between barriers.
fn strung(works: &[&Work]) -> String {
    let mut body = String::new();
    let mut since = SlotUses::default();
    let mut shared = false;
    for (i, work) in works.iter().enumerate() {
        let SlotUses { reads, writes } = &work.uses;
        let wrote = |slot: &usize| since.writes.contains(slot);
        let touched = reads.iter().chain(writes).any(wrote) || writes.iter().any(|s| since.reads.contains(s));
        if i > 0 {
            body += ";\n    ";
            if touched || shared || work.shared {
                body += "__syncthreads();\n    ";
                since = SlotUses::default();
            }
        }
        body += &work.call;
        since.reads.extend(reads);
        since.writes.extend(writes);
        shared = work.shared;
    }
    body
}

fn kernel_text(
    index: usize,
    threads: usize,
    body: &str,
    [memory, tensors, state]: [usize; 3],
    replicas: usize,
) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "extern \"C\" __global__ void __launch_bounds__({threads}) k{index}(float *memory, float *tensors, float *state, const char *table) {{
    const Replica own = ((const Replica *)(table + {replicas}))[blockIdx.y];
    const int4 *chunks = (const int4 *)table;
    float *m = memory + (long long)own.place * {memory}, *p = tensors + (long long)own.place * {tensors}, *s = state + (long long)own.place * {state};
    At at = {{(int)(blockIdx.x * {threads} + threadIdx.x), (int)(gridDim.x * {threads})}};
    {body};
}}"
    );
    text
}

/// Which kernels each one has to wait for: who wrote what it reads, and who wrote or still reads where it writes. The others may run at the
/// same time.
pub(crate) fn waits<'a>(uses: impl Iterator<Item = &'a SlotUses>) -> Vec<Vec<usize>> {
    let mut wrote: HashMap<usize, usize> = HashMap::new();
    let mut read: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut all = vec![];
    for (i, SlotUses { reads, writes }) in uses.enumerate() {
        let mut after: BTreeSet<usize> =
            reads.iter().chain(writes).filter_map(|s| wrote.get(s)).copied().collect();
        after.extend(writes.iter().filter_map(|slot| read.get(slot)).flatten());
        for &slot in reads {
            read.entry(slot).or_default().push(i);
        }
        for &slot in writes {
            wrote.insert(slot, i);
            read.remove(&slot);
        }
        // A kernel of several operations may read what it writes.
        after.remove(&i);
        all.push(after.into_iter().collect());
    }
    all
}

/// What a kernel calls: the functions with their sizes, or how many there are.
pub(crate) fn names(text: &str) -> String {
    let body = text.lines().skip(5).filter(|line| line.trim() != "__syncthreads();" && line.trim() != "}");
    let calls: Vec<&str> =
        body.map(|line| line.trim().trim_end_matches(';')).filter(|l| !l.is_empty()).collect();
    match calls[..] {
        [one] => one.to_string(),
        _ => {
            let names = calls.iter().map(|call| call.split(['(', '<']).next().unwrap_or_default());
            format!("{} calls: {}", calls.len(), names.collect::<Vec<_>>().join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A result of `n` numbers at a place, made from others.
    fn made(n: usize, out: usize, operands: &[(usize, Option<&str>)], expression: &str) -> Work {
        let mut found = vec![];
        let (place, shape) = (|slot: usize| format!("(m + {slot})"), [n]);
        let mut at = Emit {
            shapes: &[],
            inputs: &[],
            shape: &shape,
            out: &place(out),
            work: "",
            precision: Precision::F32,
            kind: "made",
            cost: Cost::default(),
            uses: SlotUses { reads: operands.iter().map(|(slot, _)| *slot).collect(), writes: vec![out] },
            found: &mut found,
        };
        let source = |(slot, index): &(usize, Option<&str>)| OperandSource {
            place: place(*slot),
            index: index.map(str::to_string),
        };
        at.pointwise(operands.iter().map(source).collect(), expression.into());
        found.remove(0)
    }

    #[test]
    fn neighbours_are_fused_where_no_thread_needs_what_another_makes() {
        let square = made(8, 1, &[(0, None)], "$0 * $0");
        let sum = made(8, 2, &[(1, None), (0, Some("0"))], "$0 + $1");
        let shifted = made(8, 3, &[(2, Some("7 - i"))], "$0");
        let over = made(8, 2, &[(9, None)], "$0");
        let longer = made(9, 4, &[(0, None)], "$0");
        let calls = |works: &[&Work]| {
            let works: Vec<Work> = works.iter().map(|work| (*work).clone()).collect();
            fuse(&works).into_iter().map(|work| work.call).collect::<Vec<_>>()
        };
        let [one, two] = &calls(&[&square, &sum, &shifted])[..] else { panic!("not two loops") };
        let expected = "POINTWISE(i, 8) { float v0 = (m + 0)[i] * (m + 0)[i]; (m + 1)[i] = v0; \
                        float v1 = v0 + (m + 0)[0]; (m + 2)[i] = v1; }";
        assert_eq!(one, expected);
        assert_eq!(two, "POINTWISE(i, 8) { float v0 = (m + 2)[7 - i]; (m + 3)[i] = v0; }");
        // What others may still read is not written over, and other lengths are other loops.
        assert_eq!(calls(&[&shifted, &over]).len(), 2);
        assert_eq!(calls(&[&square, &longer]).len(), 2);
        assert_eq!(calls(&[&square, &over]).len(), 1);
        let works: Vec<&Work> = vec![&square, &longer, &sum, &shifted];
        let body = strung(&works);
        // `longer` touches nothing of `square`; the other two read what was made.
        assert_eq!(body.matches("__syncthreads").count(), 2, "{body}");
    }

    #[test]
    fn places_follow_from_axes() {
        assert_eq!(index(&[4, 5], &[5, 1]), None);
        assert_eq!(index(&[4, 1, 5], &[5, 0, 1]), None);
        assert_eq!(index(&[4, 5], &[0, 0]).as_deref(), Some("0"));
        assert_eq!(index(&[4, 5], &[0, 1]).as_deref(), Some("i / 1 % 5 * 1"));
        assert_eq!(index(&[4, 5], &[1, 0]).as_deref(), Some("i / 5 * 1"));
        assert_eq!(
            index(&[2, 3, 4], &[1, 8, 2]).as_deref(),
            Some("i / 1 % 4 * 2 + i / 4 % 3 * 8 + i / 12 * 1")
        );
        assert_eq!(index(&[], &[]), None);
    }

    #[test]
    fn kernels_wait_for_what_they_touch() {
        let uses =
            |reads: &[usize], writes: &[usize]| SlotUses { reads: reads.to_vec(), writes: writes.to_vec() };
        let all = [
            uses(&[], &[0]),
            uses(&[0], &[1]),       // reads what 0 wrote
            uses(&[0], &[2]),       // beside 1
            uses(&[2], &[0]),       // writes where 1 and 2 read
            uses(&[1], &[3]),       // beside 2 and 3
            uses(&[0, 3], &[4, 3]), // reads and writes 3
        ];
        let found = waits(all.iter());
        assert_eq!(found, [vec![], vec![0], vec![0], vec![0, 1, 2], vec![1], vec![3, 4]]);
    }

    #[test]
    fn small_works_share_a_kernel_and_their_costs_add_up() {
        let mut found = vec![];
        for (kind, threads) in [("sum", 10), ("softmax", 20), ("conv1d", 1 << 20)] {
            let cost = Cost::new::<f32>(threads, 2 * threads);
            let (shapes, inputs, shape) = (&[], &[], &[]);
            let mut at = Emit {
                shapes,
                inputs,
                shape,
                out: "o",
                work: "w",
                precision: Precision::F32,
                kind,
                cost,
                uses: SlotUses::default(),
                found: &mut found,
            };
            if kind == "conv1d" {
                at.aside(100, 300, "conv_weights()".into());
            }
            at.each(threads, threads, format!("{kind}()"));
        }
        let found: Vec<_> = kernels(&found, [1, 1, 1], 0, 0).iter().map(|(k, _)| (k.kind, k.cost)).collect();
        let cost = |multiply_adds, numbers| Cost::new::<f32>(multiply_adds, numbers);
        assert_eq!(found, [("several", cost(30, 60 + 400)), ("conv1d", cost(1 << 20, 1 << 21))]);
    }

    #[test]
    fn numbers_are_literals_of_cuda() {
        assert_eq!(number(0.0), "0e0f");
        assert_eq!(number(1.0), "1e0f");
        assert_eq!(number(-2.5), "-2.5e0f");
        assert_eq!(number(1e-6), "1e-6f");
        assert_eq!(number(12.0), "1.2e1f");
        assert_eq!(number(f64::NEG_INFINITY), "-INFINITE");
    }
}
