//! Several people on one server of workspaces, one of them hostile: what each reaches of the others, of the owner and
//! of whoever runs the server.

mod house;
mod imports;
mod people;
mod roles;
mod reviews;
mod rule_fields;
mod rules;
