"""The parts of an open session, behind `OpenSession`."""
