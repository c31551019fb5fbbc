//! Closed sets of words: what a job chooses from, in flags, job files and reports alike.

/// An enum whose variants have words.
pub trait Choice: Copy + PartialEq + 'static {
    /// Every variant, in the order in which help texts list them.
    const ALL: &'static [Self];

    /// The word used in flags, job files and reports.
    fn name(self) -> &'static str;

    /// What it means, in a line.
    fn about(self) -> &'static str;

    /// The variant of a word.
    fn of_name(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|choice| choice.name() == word)
    }

    /// Why a word that one might expect is none of them, where there is a reason to give.
    fn why_not(_word: &str) -> Option<&'static str> {
        None
    }

    /// Words that one might expect, each of which has such a reason.
    const EXPECTED: &'static [&'static str] = &[];

    /// All words, for messages.
    fn names() -> String {
        Self::ALL.iter().map(|choice| choice.name()).collect::<Vec<_>>().join(", ")
    }
}

/// Gives the variants of an enum their words: `Variant: "word", "what it means";`. Words that one
/// might expect, and that are refused for a reason, may follow: `but not { "word": "why"; }`.
#[macro_export]
macro_rules! choices {
    ($choice:ty { $($variant:ident: $name:literal, $about:literal;)+ }
        $(but not { $($word:literal: $why:literal;)+ })?) => {
        impl $crate::choice::Choice for $choice {
            const ALL: &'static [Self] = &[$(<$choice>::$variant),+];

            fn name(self) -> &'static str {
                match self { $(<$choice>::$variant => $name),+ }
            }

            fn about(self) -> &'static str {
                match self { $(<$choice>::$variant => $about),+ }
            }
            $(
                const EXPECTED: &'static [&'static str] = &[$($word),+];

                fn why_not(word: &str) -> Option<&'static str> {
                    match word {
                        $($word => Some($why),)+
                        _ => None,
                    }
                }
            )?
        }

        impl std::fmt::Display for $choice {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::choice::Choice::name(*self))
            }
        }
    };
}
