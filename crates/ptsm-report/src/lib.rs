//! Figures as SVG and pages as one HTML file.
