#!/usr/bin/env zsh
# What zsh offers when the tab key is pressed after LINE, one match per line, in the directory where it is
# run: complete.zsh FUNCTIONS LINE. FUNCTIONS is a directory with the file _refrain.
emulate -R zsh
zmodload zsh/zpty
place=$(mktemp -d) || exit 1
export ZDOTDIR=$place FUNCTIONS=$1 TERM=dumb

# An interactive shell of its own, since only such a one completes. What the completion adds is written down
# on its way; files tell when the shell listens and when it is done.
cat > $place/.zshrc << 'END'
fpath=($FUNCTIONS $fpath)
autoload -U compinit
compinit -u -d $FUNCTIONS/.zcompdump
compadd() {
    # Calls that only sort or filter lists add nothing.
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
        local -a matches
        builtin compadd -A matches "$@"
        print -lr -- $matches >> $ZDOTDIR/matches
    fi
    builtin compadd "$@"
}
listen() { : > $ZDOTDIR/listening }
press_tab() { zle complete-word; : > $ZDOTDIR/done }
zle -N zle-line-init listen
zle -N press_tab
bindkey '^I' press_tab
: > $ZDOTDIR/matches
END
zpty inner zsh -i
until [[ -e $place/listening ]]; do sleep 0.02; done
zpty -w -n inner $2$'\t'
until [[ -e $place/done ]]; do sleep 0.02; done
zpty -d inner
sed '/^$/d' $place/matches
rm -r $place
