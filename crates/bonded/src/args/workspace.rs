//! The command line of workspaces.
//!
//! These commands work on the files of a data directory and ask no server. Whoever can write those files is the
//! keeper: there is no token here. A server on the same directory may run meanwhile; the store keeps both apart.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Where the workspaces are.
#[derive(Debug, Args)]
pub(crate) struct DataArgs {
    /// Data directory, as created by `bonded init`
    #[arg(
        long,
        global = true,
        env = "BONDED_DATA",
        value_name = "DIR",
        default_value = "data"
    )]
    pub(crate) data: PathBuf,
}

/// Where the workspaces are, and which one is meant.
#[derive(Debug, Args)]
pub(crate) struct PlaceArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,

    /// Workspace id or name [default: the oldest]
    #[arg(long, short, global = true, value_name = "WORKSPACE")]
    pub(crate) workspace: Option<String>,
}

/// Create a workspace
///
/// Its data directory holds config.json, agent-prompt.json, the owner's token and the stores. Existing files are kept.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded init data
  bonded serve --data data")]
pub(crate) struct InitArgs {
    #[arg(value_name = "DIR", default_value = "data")]
    pub(crate) dir: PathBuf,
}

/// List, show, write and search notes
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note add \"Shopping\" \"- milk\"
  bonded note add --keywords home,food \"Recipes\" @recipes.md
  bonded note list
  bonded note show Shopping
  bonded note edit Shopping \"- milk and bread\"
  bonded note edit 3f2a                              in $VISUAL or $EDITOR, by a prefix of its id
  bonded note search milk

A note is named by its id or by its title.")]
pub(crate) struct NoteArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    #[command(subcommand)]
    pub(crate) command: NoteCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum NoteCommand {
    List(NoteListArgs),
    Show(NoteShowArgs),
    Add(NoteAddArgs),
    Edit(NoteEditArgs),
    History(NoteHistoryArgs),
    Search(NoteSearchArgs),
    /// Delete a note
    #[command(after_help = "\
Examples:
  bonded note delete Shopping")]
    Delete(NoteNameArgs),
    /// Restore a deleted note
    #[command(after_help = "\
Examples:
  bonded note undelete 3f2a                          by a prefix of its id")]
    Undelete(NoteNameArgs),
}

/// List notes, most recently changed first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note list
  bonded note list --deleted --json")]
pub(crate) struct NoteListArgs {
    /// Only notes of this kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    /// Include deleted notes
    #[arg(long)]
    pub(crate) deleted: bool,

    /// How many at most
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u64,

    /// Print one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// Print a note's text
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note show Shopping
  bonded note show Shopping --at 1                   as it was at version 1")]
pub(crate) struct NoteShowArgs {
    /// The note's id, a unique prefix of it, or its title
    pub(crate) note: String,

    /// The note as it was at this version
    #[arg(long = "at", value_name = "VERSION")]
    pub(crate) at_version: Option<u64>,

    /// Print everything about it as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Write a new note and print its id
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note add \"Shopping\" \"- milk\"
  bonded note add --keywords home,food \"Recipes\" @recipes.md")]
pub(crate) struct NoteAddArgs {
    /// The title; without it, the date and time
    #[arg(value_name = "TITLE")]
    pub(crate) title: Option<String>,

    /// The text; `-` reads it from stdin, `@FILE` from a file; without it, at a terminal, your editor is opened
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,

    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<String>,

    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',')]
    pub(crate) keywords: Vec<String>,
}

/// Change a note
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note edit Shopping \"- milk and bread\"
  bonded note edit Shopping --title \"Groceries\" --keywords home
  bonded note edit 3f2a                              in $VISUAL or $EDITOR, by a prefix of its id")]
pub(crate) struct NoteEditArgs {
    /// The note's id, a unique prefix of it, or its title
    pub(crate) note: String,

    /// The new text; `-` reads it from stdin, `@FILE` from a file; without anything to change, your editor is opened
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,

    #[arg(long, value_name = "TITLE")]
    pub(crate) title: Option<String>,

    #[arg(long, value_name = "WORD,WORD", value_delimiter = ',')]
    pub(crate) keywords: Option<Vec<String>>,

    /// Change it only if it still has this version
    #[arg(long, value_name = "N")]
    pub(crate) base_version: Option<u64>,
}

/// Show the changes of a note, newest first
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note history Shopping")]
pub(crate) struct NoteHistoryArgs {
    /// The note's id, a unique prefix of it, or its title
    pub(crate) note: String,

    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: u64,
}

/// Find notes by words
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded note search milk bread")]
pub(crate) struct NoteSearchArgs {
    #[arg(value_name = "WORDS", required = true)]
    pub(crate) words: Vec<String>,

    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) limit: u64,

    /// Print one object a line
    #[arg(long)]
    pub(crate) json: bool,
}

/// A note by its name.
#[derive(Debug, Args)]
pub(crate) struct NoteNameArgs {
    /// The note's id, a unique prefix of it, or its title
    pub(crate) note: String,
}

/// Manage rules that run when something happens
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded rule add rule.json
  bonded rule list
  bonded rule disable 6f1c                           by a prefix of its id
  bonded rule launch 6f1c
  bonded rule runs

A rule is a JSON object with trigger, condition_json and action_json; docs/rules.md describes them. The server that
serves the data directory carries out what is launched here.")]
pub(crate) struct RuleArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    #[command(subcommand)]
    pub(crate) command: RuleCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum RuleCommand {
    /// List the rules of the workspace
    #[command(after_help = "\
Examples:
  bonded rule list")]
    List {
        /// Print one object a line
        #[arg(long)]
        json: bool,
    },
    /// Print a rule as JSON
    #[command(after_help = "\
Examples:
  bonded rule show 6f1c                              by a prefix of its id")]
    Show {
        /// The rule's id or a unique prefix of it
        rule: String,
    },
    /// Add the rule of a JSON file and print its id; `-` reads it from stdin
    #[command(after_help = "\
Examples:
  bonded rule add rule.json")]
    Add { file: PathBuf },
    /// Enable a rule
    #[command(after_help = "\
Examples:
  bonded rule enable 6f1c")]
    Enable {
        /// The rule's id or a unique prefix of it
        rule: String,
    },
    /// Disable a rule
    #[command(after_help = "\
Examples:
  bonded rule disable 6f1c")]
    Disable {
        /// The rule's id or a unique prefix of it
        rule: String,
    },
    /// Queue a run of a rule and print its id
    #[command(after_help = "\
Examples:
  bonded rule launch 6f1c")]
    Launch {
        /// The rule's id or a unique prefix of it
        rule: String,
        /// Run it for this event; an event it already ran for prints that run
        #[arg(long, value_name = "ID")]
        event: Option<String>,
    },
    /// List the runs of rules, the newest first
    #[command(after_help = "\
Examples:
  bonded rule runs
  bonded rule runs --rule 6f1c --json")]
    Runs {
        /// Only runs of this rule
        #[arg(long, value_name = "RULE")]
        rule: Option<String>,
        #[arg(long, value_name = "N", default_value_t = 20)]
        limit: u64,
        /// Print one object a line
        #[arg(long)]
        json: bool,
    },
}

/// Manage users, their tokens and passwords
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded user add ada                        prints her token
  bonded user add bob --invite               prints an invitation to set a password, good once
  bonded user list
  bonded user disable ada                    until `enable`
  bonded user enable ada
  bonded user token ada --only               a new token, and all others are revoked
  bonded user password ada < password.txt
  bonded user owner ada                      makes her the owner of the installation

A user is named by name or id. It works beside a running server.")]
pub(crate) struct UserArgs {
    #[command(flatten)]
    pub(crate) data: DataArgs,

    #[command(subcommand)]
    pub(crate) command: UserCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List all users
    #[command(after_help = "\
Examples:
  bonded user list")]
    List {
        /// Print one object a line
        #[arg(long)]
        json: bool,
    },
    /// Add a user and print a token
    #[command(after_help = "\
Examples:
  bonded user add ada
  bonded user add bob --invite")]
    Add {
        name: String,
        /// Print an invitation to set a password instead
        #[arg(long)]
        invite: bool,
    },
    /// Print a one-time invitation to set a password; earlier ones become void
    #[command(after_help = "\
Examples:
  bonded user invite ada")]
    Invite { user: String },
    /// Disable a user: tokens, sessions and password stop working
    #[command(after_help = "\
Examples:
  bonded user disable ada")]
    Disable { user: String },
    /// Enable a user
    #[command(after_help = "\
Examples:
  bonded user enable ada")]
    Enable { user: String },
    /// Delete a user; workspaces that only they owned become the owner's
    #[command(after_help = "\
Examples:
  bonded user delete ada")]
    Delete { user: String },
    /// Create a token for a user and print it
    #[command(after_help = "\
Examples:
  bonded user token ada --label laptop
  bonded user token ada --only                       all others are revoked")]
    Token {
        user: String,
        /// What it is for
        #[arg(long, value_name = "TEXT", default_value = "made on the terminal")]
        label: String,
        /// Revoke all other tokens of the user
        #[arg(long)]
        only: bool,
    },
    /// List the tokens of a user
    #[command(after_help = "\
Examples:
  bonded user tokens ada")]
    Tokens { user: String },
    /// Revoke a token by its id
    #[command(after_help = "\
Examples:
  bonded user revoke ada 5d3e7a10")]
    Revoke { user: String, token: String },
    /// Set a user's password to the first line of stdin; their sessions end
    #[command(after_help = "\
Examples:
  bonded user password ada < password.txt")]
    Password { user: String },
    /// End all sessions of a user
    #[command(after_help = "\
Examples:
  bonded user logout ada")]
    Logout { user: String },
    /// Make a user the owner; the file owner-token then holds their token
    #[command(after_help = "\
Examples:
  bonded user owner ada")]
    Owner { user: String },
}

/// Write the notes of a workspace as Markdown files
///
/// Each note is a file with its fields before the text. `bonded import` reads them back exactly.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded export backup")]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// The directory to write to; it must be empty or new
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,
}

/// Read Markdown files into a workspace
///
/// Files written by `bonded export` become the notes they were; a note with a known id is changed where it differs. Every
/// other file, such as one of an Obsidian vault, becomes a note with its whole text and front matter; its tags become
/// keywords, and its metadata names the file. Importing it again updates the same note. Subdirectories are read; hidden
/// ones and links are not. Files that are not imported are named with the reason, and the exit code is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  bonded import backup
  bonded import ~/vault --vault work --all-or-nothing")]
pub(crate) struct ImportArgs {
    #[command(flatten)]
    pub(crate) place: PlaceArgs,

    /// The directory to read from
    #[arg(value_name = "DIR")]
    pub(crate) dir: PathBuf,

    /// Name of the vault, which finds its notes again wherever it lies [default: its path]
    #[arg(long, value_name = "NAME")]
    pub(crate) vault: Option<String>,

    /// Prefer the file where the note was changed here too
    #[arg(long)]
    pub(crate) overwrite: bool,

    /// Read all files first, and import none if one is broken
    #[arg(long)]
    pub(crate) all_or_nothing: bool,
}
