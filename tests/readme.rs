//! What the documents say must be so.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use holdpoint_engine::skill::Skill;
use holdpoint_engine::tool::{Annotations, Format, ToolsFile};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The contents of the fenced blocks of one language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(&fence)
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect()
}

#[test]
fn the_tools_file_of_the_readme_loads() -> Result<(), Box<dyn Error>> {
    let readme = fs::read_to_string(root().join("README.md"))?;
    let blocks = blocks(&readme, "json");
    assert!(!blocks.is_empty());
    for block in blocks {
        let file = ToolsFile::from_str(block, Format::Json)?;
        assert!(file.registry.get("issue_refund").is_some());
    }
    Ok(())
}

#[test]
fn the_skill_of_the_documents_is_read_without_a_warning() -> Result<(), Box<dyn Error>> {
    let text = fs::read_to_string(root().join("docs/SKILLS.md"))?;
    let blocks = blocks(&text, "skill");
    assert!(!blocks.is_empty());
    for block in blocks {
        let skill = Skill::parse(block)?;
        assert_eq!(skill.warnings(|_| Annotations::default()), []);
        assert_eq!(skill.text(), block);
    }
    Ok(())
}

#[test]
fn every_file_that_the_documents_link_to_exists() -> Result<(), Box<dyn Error>> {
    let mut documents: Vec<PathBuf> = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root().join(name))
        .to_vec();
    for folder in ["docs", "docs/adr"] {
        for entry in fs::read_dir(root().join(folder))? {
            documents.push(entry?.path());
        }
    }
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    for document in documents {
        let text = fs::read_to_string(&document)?;
        let folder = document.parent().unwrap_or(root());
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            let file = link.split('#').next().unwrap_or_default();
            if file.is_empty() || file.contains("://") {
                continue;
            }
            assert!(
                folder.join(file).exists(),
                "{} links to {link}",
                document.display()
            );
        }
    }
    Ok(())
}
