//! The labels of the census with their weights and groups: rounded guesses, no counts of any table.

/// The group of those who live with a spouse.
pub(super) const SPOUSE_PRESENT: &str = "with spouse";

/// The group of public employers.
pub(super) const GOVERNMENT: &str = "government";

pub(super) const SEXES: [&str; 2] = ["male", "female"];

pub(super) const SALARY_CLASSES: [&str; 2] = ["up to 50K", "over 50K"];

/// Weights of ages, straight lines between.
pub(super) const AGE_WEIGHTS: [(i32, f64); 8] =
    [(17, 40.0), (23, 80.0), (38, 85.0), (47, 70.0), (60, 28.0), (70, 7.0), (80, 1.5), (90, 1.0)];

pub(super) const RACES: [(&str, f64); 5] = [
    ("white", 86.0),
    ("black", 9.0),
    ("asian-or-pacific", 3.0),
    ("native-american", 1.0),
    ("other-race", 1.0),
];

/// Name and group. The order is that of the weights in [`MARITAL_BY_AGE`].
pub(super) const MARITAL_STATUSES: [(&str, &str); 7] = [
    ("married", SPOUSE_PRESENT),
    ("married-to-military", SPOUSE_PRESENT),
    ("never-married", "alone"),
    ("divorced", "alone"),
    ("separated", "alone"),
    ("widowed", "alone"),
    ("married-spouse-away", "alone"),
];

/// Weights of the marital statuses, up to each age.
pub(super) const MARITAL_BY_AGE: [(i32, [f64; 7]); 8] = [
    (19, [20.0, 0.5, 960.0, 5.0, 4.0, 0.5, 4.0]),
    (24, [150.0, 1.0, 820.0, 15.0, 10.0, 1.0, 8.0]),
    (29, [420.0, 1.5, 510.0, 50.0, 18.0, 2.0, 10.0]),
    (34, [590.0, 1.0, 280.0, 90.0, 25.0, 3.0, 11.0]),
    (44, [680.0, 0.7, 150.0, 130.0, 27.0, 5.0, 11.0]),
    (59, [750.0, 0.4, 70.0, 130.0, 22.0, 15.0, 12.0]),
    (69, [780.0, 0.3, 50.0, 90.0, 14.0, 55.0, 9.0]),
    (90, [700.0, 0.3, 70.0, 60.0, 10.0, 150.0, 10.0]),
];

/// How many schooling levels occupations tell apart.
pub(super) const SCHOOLING_LEVELS: usize = 5;

/// A level of education.
pub(super) struct Education {
    pub(super) name: &'static str,
    /// The finer group.
    pub(super) school: &'static str,
    /// The wider group.
    pub(super) stage: &'static str,
    pub(super) weight: f64,
    /// 0: without a diploma, 1: school, 2: some college, 3: a degree, 4: a higher degree.
    pub(super) level: usize,
    pub(super) pay_points: i32,
}

const fn education(
    name: &'static str,
    (school, stage): (&'static str, &'static str),
    weight: f64,
    level: usize,
    pay_points: i32,
) -> Education {
    Education { name, school, stage, weight, level, pay_points }
}

const ELEMENTARY: (&str, &str) = ("elementary school", "basic education");
const MIDDLE: (&str, &str) = ("middle school", "basic education");
const HIGH_SCHOOL: (&str, &str) = ("high school", "secondary education");
const COLLEGE: (&str, &str) = ("college", "higher education");
const VOCATIONAL: (&str, &str) = ("associate degree", "higher education");
const GRADUATE: (&str, &str) = ("graduate school", "higher education");

pub(super) const EDUCATIONS: [Education; 16] = [
    education("preschool", ELEMENTARY, 2.0, 0, -4),
    education("grade-1-to-4", ELEMENTARY, 5.0, 0, -3),
    education("grade-5-to-6", ELEMENTARY, 10.0, 0, -3),
    education("grade-7-to-8", MIDDLE, 19.0, 0, -2),
    education("grade-9", MIDDLE, 15.0, 0, -2),
    education("grade-10", HIGH_SCHOOL, 27.0, 0, -2),
    education("grade-11", HIGH_SCHOOL, 35.0, 0, -2),
    education("grade-12", HIGH_SCHOOL, 12.0, 0, -1),
    education("high-school-diploma", HIGH_SCHOOL, 325.0, 1, 0),
    education("some-college", COLLEGE, 220.0, 2, 0),
    education("associate-vocational", VOCATIONAL, 43.0, 2, 1),
    education("associate-academic", VOCATIONAL, 33.0, 2, 1),
    education("bachelor", COLLEGE, 167.0, 3, 2),
    education("master", GRADUATE, 54.0, 4, 3),
    education("professional-school", GRADUATE, 18.0, 4, 5),
    education("doctorate", GRADUATE, 12.0, 4, 5),
];

/// A kind of work.
pub(super) struct Occupation {
    pub(super) name: &'static str,
    pub(super) group: &'static str,
    pub(super) weight_by_level: [f64; SCHOOLING_LEVELS],
    /// How much more often women do it than men.
    pub(super) women_factor: f64,
    /// How much more often it is public service.
    pub(super) public_factor: f64,
    pub(super) pay_points: i32,
}

const fn occupation(
    name: &'static str,
    group: &'static str,
    weight_by_level: [f64; SCHOOLING_LEVELS],
    (women_factor, public_factor): (f64, f64),
    pay_points: i32,
) -> Occupation {
    Occupation { name, group, weight_by_level, women_factor, public_factor, pay_points }
}

const OFFICE: &str = "office";
const MANUAL: &str = "manual";
const SERVICE: &str = "service";
const EXPERT: &str = "expert";

pub(super) const OCCUPATIONS: [Occupation; 14] = [
    occupation("administrative", OFFICE, [4.0, 9.0, 13.0, 7.0, 2.5], (4.5, 1.8), -1),
    occupation("management", OFFICE, [3.0, 8.0, 13.0, 26.0, 22.0], (0.9, 0.9), 2),
    occupation("sales", OFFICE, [9.0, 11.0, 15.0, 16.0, 6.0], (1.1, 0.1), 0),
    occupation("technical-support", EXPERT, [0.7, 1.7, 5.0, 4.5, 1.8], (1.3, 1.0), 1),
    occupation("professional", EXPERT, [1.2, 2.4, 8.0, 29.0, 62.0], (1.4, 2.2), 1),
    occupation("craft", MANUAL, [19.0, 24.0, 17.0, 5.5, 1.2], (0.12, 0.4), 0),
    occupation("machine-operator", MANUAL, [13.0, 10.0, 5.0, 1.3, 0.4], (0.9, 0.1), -1),
    occupation("transport", MANUAL, [11.0, 10.0, 5.0, 1.3, 0.5], (0.12, 0.7), -1),
    occupation("laborer", MANUAL, [10.0, 7.0, 4.0, 1.0, 0.3], (0.3, 0.4), -2),
    occupation("farming-and-fishing", MANUAL, [7.0, 5.0, 3.0, 1.7, 0.6], (0.15, 0.2), -2),
    occupation("general-service", SERVICE, [17.0, 9.0, 8.0, 2.5, 0.8], (2.5, 1.2), -3),
    occupation("household-service", SERVICE, [1.0, 0.15, 0.1, 0.05, 0.02], (12.0, 0.05), -4),
    occupation("protective-service", SERVICE, [1.0, 2.8, 4.0, 2.4, 0.7], (0.3, 6.0), 1),
    occupation("armed-forces", SERVICE, [0.03, 0.05, 0.05, 0.05, 0.05], (0.2, 60.0), -1),
];

/// Name, group and weight.
pub(super) const WORKCLASSES: [(&str, &str, f64); 7] = [
    ("private", "not government", 740.0),
    ("self-employed", "not government", 83.0),
    ("self-employed-incorporated", "not government", 36.0),
    ("unpaid", "not government", 1.0),
    ("federal-government", GOVERNMENT, 31.0),
    ("state-government", GOVERNMENT, 42.0),
    ("local-government", GOVERNMENT, 68.0),
];

/// A country of birth.
pub(super) struct Country {
    pub(super) name: &'static str,
    pub(super) part: &'static str,
    pub(super) weight: f64,
    /// Indices into [`RACES`].
    pub(super) usual_races: &'static [usize],
}

const fn country(
    name: &'static str,
    part: &'static str,
    weight: f64,
    usual_races: &'static [usize],
) -> Country {
    Country { name, part, weight, usual_races }
}

const NORTH: &str = "north america";
const CENTRAL: &str = "central america and caribbean";
const SOUTH: &str = "south america";
const EUROPE: &str = "europe";
const ASIA: &str = "asia";

const ALL_RACES: &[usize] = &[0, 1, 2, 3, 4];

pub(super) const COUNTRIES: [Country; 41] = [
    country("united-states", NORTH, 915.0, ALL_RACES),
    country("canada", NORTH, 4.0, &[0]),
    country("us-outlying", NORTH, 0.6, &[0, 1, 2]),
    country("mexico", CENTRAL, 20.0, &[0, 4]),
    country("puerto-rico", CENTRAL, 4.0, &[0, 1, 4]),
    country("el-salvador", CENTRAL, 3.0, &[0, 4]),
    country("cuba", CENTRAL, 3.0, &[0, 1]),
    country("jamaica", CENTRAL, 12.0, &[1]),
    country("dominican-republic", CENTRAL, 2.0, &[0, 1, 4]),
    country("guatemala", CENTRAL, 2.0, &[0, 4]),
    country("haiti", CENTRAL, 9.0, &[1]),
    country("nicaragua", CENTRAL, 1.2, &[0, 4]),
    country("honduras", CENTRAL, 0.6, &[0, 1]),
    country("trinidad-and-tobago", CENTRAL, 3.0, &[1]),
    country("colombia", SOUTH, 2.0, &[0, 4]),
    country("peru", SOUTH, 1.2, &[0, 4]),
    country("ecuador", SOUTH, 1.0, &[0, 4]),
    country("germany", EUROPE, 4.5, &[0]),
    country("england", EUROPE, 3.0, &[0]),
    country("italy", EUROPE, 2.4, &[0]),
    country("poland", EUROPE, 2.0, &[0]),
    country("portugal", EUROPE, 1.3, &[0]),
    country("greece", EUROPE, 1.1, &[0]),
    country("france", EUROPE, 1.0, &[0]),
    country("ireland", EUROPE, 0.9, &[0]),
    country("yugoslavia", EUROPE, 0.6, &[0]),
    country("hungary", EUROPE, 0.5, &[0]),
    country("scotland", EUROPE, 0.5, &[0]),
    country("netherlands", EUROPE, 0.3, &[0]),
    country("philippines", ASIA, 200.0, &[2]),
    country("india", ASIA, 90.0, &[2]),
    country("south-korea", ASIA, 75.0, &[2]),
    country("china", ASIA, 75.0, &[2]),
    country("vietnam", ASIA, 70.0, &[2]),
    country("japan", ASIA, 60.0, &[2]),
    country("taiwan", ASIA, 45.0, &[2]),
    country("iran", ASIA, 1.5, &[0]),
    country("hong-kong", ASIA, 20.0, &[2]),
    country("cambodia", ASIA, 20.0, &[2]),
    country("thailand", ASIA, 18.0, &[2]),
    country("laos", ASIA, 18.0, &[2]),
];
