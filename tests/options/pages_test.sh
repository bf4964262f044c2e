#!/usr/bin/env bash
# The manual pages have no warning, and each shell takes its script and completes by it.
. "$(dirname "$0")/../end-to-end/support/harness.sh"
share=$BUILD/share

for page in "$share"/man/man?/*; do
	same "$(basename "$page")" "$(mandoc -Tlint -W warning "$page" 2>&1)" ""
done

# completed LINE...: what bash offers for the last word of a command line.
completed() {
	bash --norc -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _flamegrid "$1"; printf "%s " "${COMPREPLY[@]}"' \
		"$share/bash-completion/completions/flamegrid" "$@"
}
mkdir "$scratch/folder"
touch "$scratch/file"
cd "$scratch" || exit 1
same "bash: a verb" "$(completed flamegrid r)" "run report "
same "bash: an option" "$(completed flamegrid report --str)" "--straggler --strict "
same "bash: a value" "$(completed flamegrid report --format h)" "html "
same "bash: a value behind =" "$(completed flamegrid report --format = h)" "html "
same "bash: a value of a letter" "$(completed flamegrid report -u '')" "ns us "
same "bash: a folder" "$(completed flamegrid run -o f)" "folder "
same "bash: a file" "$(completed flamegrid diff -o fi)" "file "
touch 'hostile$(touch made)' 'two words'
same "bash: a name that is a command is not executed" "$(completed flamegrid diff -o host)" 'hostile$(touch made) '
check "nothing was made" [ ! -e made ]
same "bash: a name with a blank is one" "$(completed flamegrid diff -o two)" "two words "
same "bash: a word" "$(completed flamegrid control sta)" "start status "
same "bash: a command" "$(completed flamegrid run tru | tr ' ' '\n' | sort -u | grep -cx true)" 1
same "bash: a daemon's option" "$(completed /usr/bin/flamegrid-agent --any)" "--any-user "

zsh -f -n "$share/zsh/site-functions/_flamegrid"
same "zsh reads its script" $? 0
fish --no-execute "$share/fish/vendor_completions.d/flamegrid.fish"
same "fish reads its script" $? 0
offered() {
	HOME=$scratch fish --no-config -c "source $share/fish/vendor_completions.d/flamegrid.fish; complete -C '$1'" | cut -f1 | tr '\n' ' '
}
same "fish: a verb" "$(offered 'flamegrid ru')" "run "
same "fish: an option" "$(offered 'flamegrid report --stri')" "--strict "
same "fish: a value" "$(offered 'flamegrid report --format h')" "html "
same "fish: a daemon's option" "$(offered 'flamegrid-agent --any')" "--any-user "
