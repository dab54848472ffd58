//! Instructions without attributes, read from the text of a reply.
//!
//! Reading is total and takes time in proportion to the text. It looks for elements, not for XML: what an element
//! holds is text, up to the tag that closes it. A reply that cannot be read as a whole gives nothing at all.

mod fault;
mod markup;
mod tags;

use serde_json::Value;

use fault::COMMENT;
pub use fault::{InstructionFault, Problem};
use markup::{Markup, OpeningTag, end_of_element, markup_at, short};
use tags::TagSpec;
pub use tags::{
    INSTRUCTION_TAGS, RAM_ADD, RAM_DELETE, RECORD_ADD, RECORD_ISSUE, RECORD_SEARCH, RECORD_UPDATE,
    STATE_ADD, STATE_DELETE,
};

/// More faults than these are counted, not kept.
const FAULTS_MAX: usize = 20;

/// How a reply is read.
#[derive(Clone, Copy, Debug)]
pub struct InstructionRules<'a> {
    /// The instructions that may be used; all of them where it is empty.
    pub allowed: &'a [String],
    /// Whether whatever is not as it must be fails the reply as a whole.
    pub strict: bool,
    /// Instructions beyond these are counted, not kept.
    pub instructions_max: usize,
}

/// What a reply holds, in the order in which it stands there.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Instructions {
    /// At most as many instructions as the rules keep.
    pub items: Vec<Element>,
    /// How many more instructions there were.
    pub instructions_left_out: usize,
    /// How many more faults there were.
    pub faults_left_out: usize,
}

/// One element of a reply.
#[derive(Clone, Debug, PartialEq)]
pub enum Element {
    /// It can be carried out.
    Instruction {
        /// One of [`INSTRUCTION_TAGS`].
        tag: &'static str,
        /// A JSON object with a member for each child.
        arguments: Value,
    },
    /// What was skipped, and why.
    Dropped(InstructionFault),
}

/// Reads the instructions of a reply.
pub fn read_instructions(
    text: &str,
    rules: InstructionRules<'_>,
) -> Result<Instructions, InstructionFault> {
    let mut reader = InstructionReader {
        text: text.strip_prefix('\u{feff}').unwrap_or(text),
        at: 0,
        counted_to: 0,
        line: 1,
        rules,
        read: Instructions::default(),
        accepted: 0,
        has_text: false,
        has_element: false,
    };
    reader.read_all()?;
    Ok(reader.read)
}

/// Reads from the beginning to the end, once.
struct InstructionReader<'a> {
    text: &'a str,
    at: usize,
    /// Up to here line ends were counted.
    counted_to: usize,
    line: u32,
    rules: InstructionRules<'a>,
    read: Instructions,
    accepted: usize,
    has_text: bool,
    has_element: bool,
}

impl<'a> InstructionReader<'a> {
    fn read_all(&mut self) -> Result<(), InstructionFault> {
        while let Some(place) = self.next_markup()? {
            let line = self.line_of(place);
            match markup_at(self.text, place) {
                Markup::Open(open) => self.element(open, line)?,
                Markup::Close { name, end } => {
                    self.at = end;
                    self.drop_element(fault(line, name, Problem::StrayClose))?;
                }
                Markup::Broken { name } if self.is_known(name) => {
                    return Err(fault(line, name, Problem::Unclosed));
                }
                Markup::Comment { end } => self.at = end,
                Markup::CharacterData { end } => self.prose(line, end)?,
                Markup::Broken { .. } | Markup::Plain => self.prose(line, place + 1)?,
                markup @ (Markup::Processing { .. } | Markup::Endless | Markup::Declaration) => {
                    self.pass(markup, "", line)?;
                }
            }
        }
        match self.has_text && !self.has_element {
            true => Err(fault(1, "", Problem::NoElement)),
            false => Ok(()),
        }
    }

    /// The place of the next `<`; what stands before it is prose.
    fn next_markup(&mut self) -> Result<Option<usize>, InstructionFault> {
        let rest = &self.text[self.at..];
        let offset = rest.find('<');
        let before = &rest[..offset.unwrap_or(rest.len())];
        let blank = before.len() - before.trim_start().len();
        if blank < before.len() {
            let line = self.line_of(self.at + blank);
            self.prose(line, self.at)?;
        }
        Ok(offset.map(|offset| self.at + offset))
    }

    fn prose(&mut self, line: u32, end: usize) -> Result<(), InstructionFault> {
        self.has_text = true;
        self.at = end;
        match self.rules.strict {
            true => Err(fault(line, "", Problem::Prose)),
            false => Ok(()),
        }
    }

    /// What is wrong wherever it stands, or passed over wherever it stands.
    fn pass(&mut self, markup: Markup<'_>, tag: &str, line: u32) -> Result<(), InstructionFault> {
        match markup {
            Markup::Comment { end } => self.at = end,
            Markup::Processing { end } if !self.rules.strict => self.at = end,
            Markup::Processing { .. } => return Err(fault(line, tag, Problem::Processing)),
            Markup::Declaration => return Err(fault(line, tag, Problem::Declaration)),
            Markup::Open(_)
            | Markup::Close { .. }
            | Markup::Broken { .. }
            | Markup::CharacterData { .. }
            | Markup::Endless
            | Markup::Plain => {
                let tag = if tag.is_empty() { COMMENT } else { tag };
                return Err(fault(line, tag, Problem::Unclosed));
            }
        }
        Ok(())
    }

    fn element(&mut self, open: OpeningTag<'a>, line: u32) -> Result<(), InstructionFault> {
        self.has_element = true;
        self.at = open.end;
        let Some(spec) = TagSpec::of(open.name).filter(|spec| self.is_allowed(spec.name)) else {
            self.content_of(open, line)?;
            return self.drop_element(fault(line, open.name, Problem::UnknownTag));
        };
        let children = match open.is_closed {
            true => Ok(vec![]),
            false => self.children(spec, line)?,
        };
        let children = match open.has_attribute {
            true => Err(Problem::Attribute),
            false => children,
        };
        match children.and_then(|children| spec.arguments(&children)) {
            Ok(arguments) => {
                self.accept(spec.name, arguments);
                Ok(())
            }
            Err(problem) => self.drop_element(fault(line, spec.name, problem)),
        }
    }

    /// The content of an element, which is read past.
    fn content_of(&mut self, open: OpeningTag<'_>, line: u32) -> Result<&'a str, InstructionFault> {
        if open.is_closed {
            self.at = open.end;
            return Ok("");
        }
        let end = end_of_element(self.text, open.end, open.name);
        let (content_end, behind) = end.ok_or_else(|| fault(line, open.name, Problem::Unclosed))?;
        self.at = behind;
        Ok(&self.text[open.end..content_end])
    }

    /// The children of an instruction up to its end; or the first thing that is wrong with them.
    #[expect(
        clippy::type_complexity,
        reason = "a fault of the reply, or one of the instruction, or what it holds"
    )]
    fn children(
        &mut self,
        spec: &TagSpec,
        opened: u32,
    ) -> Result<Result<Vec<(&'static str, &'a str)>, Problem>, InstructionFault> {
        let mut found: Vec<(&'static str, &'a str)> = vec![];
        let mut problem = None;
        loop {
            let rest = &self.text[self.at..];
            let offset = rest.find('<');
            let offset = offset.ok_or_else(|| fault(opened, spec.name, Problem::Unclosed))?;
            let place = self.at + offset;
            if !rest[..offset].trim().is_empty() {
                problem.get_or_insert(Problem::NoChild);
            }
            let line = self.line_of(place);
            match markup_at(self.text, place) {
                Markup::Close { name, end } => {
                    self.at = end;
                    if name == spec.name {
                        return Ok(problem.map_or(Ok(found), Err));
                    }
                    problem.get_or_insert(Problem::NoChild);
                }
                Markup::Open(open) => {
                    let content = self.content_of(open, line)?;
                    match child(spec, open, &found) {
                        Ok(name) => found.push((name, content)),
                        Err(wrong) => drop(problem.get_or_insert(wrong)),
                    }
                }
                Markup::Broken { name } => return Err(fault(line, name, Problem::Unclosed)),
                Markup::Plain => {
                    self.at = place + 1;
                    problem.get_or_insert(Problem::NoChild);
                }
                Markup::CharacterData { end } => {
                    self.at = end;
                    problem.get_or_insert(Problem::NoChild);
                }
                markup @ (Markup::Comment { .. }
                | Markup::Processing { .. }
                | Markup::Endless
                | Markup::Declaration) => self.pass(markup, spec.name, line)?,
            }
        }
    }

    fn accept(&mut self, tag: &'static str, arguments: Value) {
        if self.accepted >= self.rules.instructions_max {
            self.read.instructions_left_out += 1;
            return;
        }
        self.accepted += 1;
        let items = &mut self.read.items;
        items.push(Element::Instruction { tag, arguments });
    }

    fn drop_element(&mut self, fault: InstructionFault) -> Result<(), InstructionFault> {
        if self.rules.strict || fault.problem.is_fatal() {
            return Err(fault);
        }
        let items = &mut self.read.items;
        if items.len() - self.accepted >= FAULTS_MAX {
            self.read.faults_left_out += 1;
        } else {
            items.push(Element::Dropped(fault));
        }
        Ok(())
    }

    fn is_allowed(&self, tag: &str) -> bool {
        let allowed = self.rules.allowed;
        allowed.is_empty() || allowed.iter().any(|it| it == tag)
    }

    fn is_known(&self, tag: &str) -> bool {
        TagSpec::of(tag).is_some() && self.is_allowed(tag)
    }

    /// The line of a place. Places are asked for in their order.
    fn line_of(&mut self, place: usize) -> u32 {
        let between = self.text.get(self.counted_to..place).unwrap_or_default();
        let ends = between.bytes().filter(|&b| b == b'\n').count();
        self.line = self
            .line
            .saturating_add(u32::try_from(ends).unwrap_or(u32::MAX));
        self.counted_to = self.counted_to.max(place);
        self.line
    }
}

/// The name of a child that an instruction has and that did not come before.
fn child(
    spec: &TagSpec,
    open: OpeningTag<'_>,
    found: &[(&'static str, &str)],
) -> Result<&'static str, Problem> {
    let name = spec.child(open.name).ok_or(Problem::UnknownChild)?;
    if open.has_attribute {
        return Err(Problem::Attribute);
    }
    match found.iter().any(|(other, _)| *other == name) {
        true => Err(Problem::DuplicateChild { child: name }),
        false => Ok(name),
    }
}

fn fault(line: u32, tag: &str, problem: Problem) -> InstructionFault {
    InstructionFault {
        line,
        tag: short(tag),
        problem,
    }
}
