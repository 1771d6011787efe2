//! Scores by subject, their spread and chance; protocols and the benchmark runner.
