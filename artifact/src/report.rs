//! The copy report: for every copy, each candidate with its verdict, reason and estimated cost.
//!
//! What must hold here: the serialised names and their order are an interface (`tilewright report --json`); parameters keep
//! the order in which the variant gave them.

use std::fmt;

use serde::de::{self, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The report of one compile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the target.
    pub target: String,
    /// Every copy in the order of the source.
    pub copies: Vec<CopyReport>,
}

/// How one copy was carried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopyReport {
    /// The kernel it stands in.
    pub kernel: String,
    /// Its line in the source, from 1.
    pub line: u32,
    /// The copy as one line of source, without the word `copy`: `recv@next <- send by cta, notify ready`.
    pub copy: String,
    /// The variant that was taken; `None` if every candidate declined.
    pub chosen: Option<String>,
    /// The parameters of the chosen variant.
    pub params: Params,
    /// Bank conflicts of its accesses to shared memory, one entry a shared buffer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<ConflictReport>,
    /// Every candidate in the order in which they were tried.
    pub candidates: Vec<CandidateReport>,
    /// Other layouts that would make it better, each a sentence with the text to paste; empty unless they were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggest: Vec<String>,
}

/// How the lanes of a warp get on at the banks of shared memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictReport {
    /// The shared buffer.
    pub buffer: String,
    /// Passes that the worst access of a warp takes; 1 without conflicts.
    pub ways: u64,
}

/// What became of a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It carries the copy.
    Chosen,
    /// It would have fitted, another one was better.
    Lost,
    /// It does not fit.
    Rejected,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Chosen => "chosen",
            Verdict::Lost => "lost",
            Verdict::Rejected => "rejected",
        })
    }
}

/// One candidate of one copy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CandidateReport {
    /// Name of the variant.
    pub variant: String,
    /// What became of it.
    pub verdict: Verdict,
    /// Why, in one sentence with the numbers.
    pub reason: String,
    /// Predicted time; `None` if it was rejected before one could be given.
    pub cost: Option<CostReport>,
}

/// A predicted time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CostReport {
    /// Picoseconds.
    pub picoseconds: u64,
    /// Whether every figure in it was measured on the target.
    pub measured: bool,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParamValue {
    /// A yes or no.
    Bool(bool),
    /// A number.
    Int(i64),
    /// Anything else.
    Text(String),
}

impl fmt::Display for ParamValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ParamValue::Bool(value) => write!(f, "{value}"),
            ParamValue::Int(value) => write!(f, "{value}"),
            ParamValue::Text(value) => f.write_str(value),
        }
    }
}

impl From<bool> for ParamValue {
    fn from(value: bool) -> Self {
        ParamValue::Bool(value)
    }
}

impl From<i64> for ParamValue {
    fn from(value: i64) -> Self {
        ParamValue::Int(value)
    }
}

impl From<u32> for ParamValue {
    fn from(value: u32) -> Self {
        ParamValue::Int(i64::from(value))
    }
}

impl From<&str> for ParamValue {
    fn from(value: &str) -> Self {
        ParamValue::Text(value.to_owned())
    }
}

impl From<String> for ParamValue {
    fn from(value: String) -> Self {
        ParamValue::Text(value)
    }
}

impl Serialize for ParamValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ParamValue::Bool(value) => serializer.serialize_bool(*value),
            ParamValue::Int(value) => serializer.serialize_i64(*value),
            ParamValue::Text(value) => serializer.serialize_str(value),
        }
    }
}

impl<'de> Deserialize<'de> for ParamValue {
    /// By hand, because serde's untagged form would follow nested input to any depth before it says no.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Scalar;
        impl Visitor<'_> for Scalar {
            type Value = ParamValue;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a boolean, a 64-bit integer or a string")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<ParamValue, E> {
                Ok(ParamValue::Bool(value))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<ParamValue, E> {
                Ok(ParamValue::Int(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<ParamValue, E> {
                i64::try_from(value).map(ParamValue::Int).map_err(|_| E::custom("a parameter exceeds 63 bits"))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<ParamValue, E> {
                Ok(ParamValue::Text(value.to_owned()))
            }
        }
        deserializer.deserialize_any(Scalar)
    }
}

/// Named parameters in their order. Serialises as a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params(pub Vec<(String, ParamValue)>);

impl Params {
    /// No parameters.
    pub fn new() -> Self {
        Params(Vec::new())
    }

    /// Appends one. Names should be unique: JSON readers keep only the last of two equal ones.
    pub fn push(&mut self, name: impl Into<String>, value: impl Into<ParamValue>) {
        self.0.push((name.into(), value.into()));
    }

    /// The same with one more, for building in one expression.
    pub fn with(mut self, name: impl Into<String>, value: impl Into<ParamValue>) -> Self {
        self.push(name, value);
        self
    }

    /// The value of that name.
    pub fn get(&self, name: &str) -> Option<&ParamValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

impl Serialize for Params {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Params {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Params;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map of parameters")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Params, A::Error> {
                // Grown entry by entry: the announced length is not to be trusted.
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Params(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}
