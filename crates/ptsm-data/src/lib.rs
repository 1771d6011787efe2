//! Where trials come from: the simulated cohort, arrays of the user's own; splits by subject.
