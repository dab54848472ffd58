//! Several people on one server of workspaces, one of them hostile: what each reaches of the others, of the owner and
//! of whoever runs the server.

mod directories;
mod held;
mod house;
mod imports;
mod people;
mod reviews;
mod roles;
mod rule_fields;
mod rules;
