//! What rules sign with.
//!
//! A secret is no part of its rule, because members read rules, and of no event, because events are read by members and
//! kept for good. It is kept as it is: to check a signature needs the secret itself.

use super::connection::Connection;
use bonded_kernel::{Millis, RuleId, UserId};
use bonded_workspace_rules::{Permission, Refused};
use rusqlite::params;

use super::codes::time;
use super::error::{StoreFault, WorkspaceError};
use super::members::role_of_active;
use super::proof::By;
use super::rows;
use super::workspace_store::WorkspaceStore;

/// A secret that was made for a rule; one that is there already may stay.
#[derive(Clone)]
pub struct NewSecret {
    /// Whose it is.
    pub rule_id: RuleId,
    /// Who makes it.
    pub user_id: UserId,
    /// Drawn by the caller.
    pub secret: String,
    /// By the caller's clock.
    pub at: Millis,
    /// Whether it takes the place of one that is there.
    pub replaces: bool,
}

impl std::fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NewSecret of {}", self.rule_id)
    }
}

impl WorkspaceStore {
    /// Keeps a secret, if who asks is still who they were. Says whether it was taken.
    pub async fn set_secret(&self, by: By, new: NewSecret) -> Result<bool, WorkspaceError> {
        self.change(move |transaction| {
            by.check_is(transaction.connection, new.user_id)?;
            check_role(transaction.connection, new.rule_id, new.user_id)?;
            let sql = match new.replaces {
                true => {
                    "INSERT INTO rule_secret (rule, secret, made_at) VALUES (?1, ?2, ?3) \
                     ON CONFLICT (rule) DO UPDATE SET secret = excluded.secret, made_at = excluded.made_at"
                }
                false => {
                    "INSERT INTO rule_secret (rule, secret, made_at) VALUES (?1, ?2, ?3) \
                     ON CONFLICT DO NOTHING"
                }
            };
            let made = transaction
                .connection
                .execute(sql, params![new.rule_id.as_bytes(), new.secret, time(new.at)])?;
            Ok(made > 0)
        })
        .await
    }

    /// The secret of a rule.
    pub async fn secret(&self, rule: RuleId) -> Result<Option<String>, WorkspaceError> {
        self.read(move |connection| secret(connection, rule)).await
    }
}

/// Who may write the rule may say what it signs with.
fn check_role(connection: Connection<'_>, rule: RuleId, user: UserId) -> Result<(), StoreFault> {
    let sql = "SELECT workspace FROM rule WHERE id = ?1 AND deleted = 0";
    let workspace = rows::one(connection, sql, [rule.as_bytes()], |row| row.get(0))?;
    let workspace: i64 = workspace.ok_or(Refused::RuleNotFound { rule_id: rule })?;
    let role = role_of_active(connection, workspace, user)?;
    match role.is_some_and(|role| role.may(Permission::ManageRules)) {
        true => Ok(()),
        false => {
            let needs = Permission::ManageRules.least_role();
            Err(Refused::RoleForbidden { needs }.into())
        }
    }
}

fn secret(connection: Connection<'_>, rule: RuleId) -> Result<Option<String>, StoreFault> {
    let sql = "SELECT secret FROM rule_secret WHERE rule = ?1";
    rows::one(connection, sql, [rule.as_bytes()], |row| row.get(0))
}
