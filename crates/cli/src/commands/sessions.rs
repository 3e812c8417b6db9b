//! `junto sessions`: what was kept, newest first.
