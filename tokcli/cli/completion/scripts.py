"""The scripts that the shells load: what they ask the program, and how they offer what it answers (see shells.py).

A shell may have any settings, and may be old (bash 3.2 of macOS), so the scripts use little of it.
"""

from __future__ import annotations

BASH = r"""
# Completion of tokcli for bash. Without this file: eval "$(tokcli --completion bash)" in ~/.bashrc

_tokcli() {
    local program=$1 answer kind space before inside line
    [[ $program == "~/"* ]] && program=$HOME/${program:2}
    type "$program" >/dev/null 2>&1 || program=tokcli
    answer=$(
        _TOKCLI_COMPLETE=bash command "$program" \
            "${COMP_LINE:0:COMP_POINT}" "$2" "${COMP_TYPE:-9}" "${COLUMNS:-80}" 2>/dev/null
    ) || return
    COMPREPLY=()
    {
        IFS=' ' read -r kind space
        IFS= read -r before
        IFS= read -r inside
        while IFS= read -r line; do COMPREPLY+=("$line"); done
    } <<<"$answer"
    [[ $space == nospace ]] && compopt -o nospace 2>/dev/null
    [[ $kind == none ]] && return
    compopt -o filenames 2>/dev/null
    [[ $kind == folder ]] && kind=directory
    while IFS= read -r line; do
        [[ -n $line ]] && COMPREPLY+=("$before${line#"$inside"}")
    done <<<"$(compgen -A "$kind" -- "$inside${2#"$before"}")"
}

complete -o nosort -F _tokcli tokcli 2>/dev/null || complete -F _tokcli tokcli
"""

ZSH = r"""
#compdef tokcli
# Completion of tokcli for zsh. Without this file: eval "$(tokcli --completion zsh)" in ~/.zshrc

_tokcli() {
    local program=${~${(Q)words[1]}} found=1
    local -a answer first rows options
    (( $+commands[$program] )) || [[ -x $program ]] || program=tokcli
    answer=("${(@f)$(_TOKCLI_COMPLETE=zsh command $program "${(@)words[2,CURRENT-1]}" "$QIPREFIX$PREFIX" 2>/dev/null)}")
    first=(${=answer[1]})
    rows=("${(@)answer[2,-1]}")
    (( $#first )) || return 1
    compset -p $(( first[2] > $#QIPREFIX ? first[2] - $#QIPREFIX : 0 ))
    if (( $#rows )); then
        (( $first[(Ie)list] )) && options+=(-qS ,)
        (( $first[(Ie)case] )) && options+=(-M 'm:{a-zA-Z}={A-Za-z}')
        if [[ $rows[1] == -* ]]; then
            _describe -V -o option rows $options && found=0
        else
            _describe -V -t values value rows $options && found=0
        fi
    fi
    case $first[1] in
        file) _files && found=0 ;;
        folder) _files -/ && found=0 ;;
    esac
    return found
}

if [[ $funcstack[1] == _tokcli ]]; then
    _tokcli "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i }
    compdef _tokcli tokcli
fi
"""

FISH = r"""
# Completion of tokcli for fish. Without this file: tokcli --completion fish | source in ~/.config/fish/config.fish

function __tokcli_complete
    set -l words (commandline -opc)
    set -l program $words[1]
    type -q "$program"; or set program tokcli
    set -l token (commandline -ct)
    set -l answer (env _TOKCLI_COMPLETE=fish $program $words[2..-1] "$token" 2>/dev/null)
    test (count $answer) -ge 2; or return
    test (count $answer) -eq 2; or printf '%s\n' $answer[3..-1]
    set -l before (string length -- $answer[2])
    set -l value (string sub -s (math $before + 1) -- "$token")
    set -l paths
    switch $answer[1]
        case file
            set paths (complete -C "__tokcli_no_command $value")
        case folder
            set paths (complete -C "__tokcli_no_command $value" | string match -r '.*/(?=\t|$)')
    end
    for path in $paths
        printf "%s%s\n" "$answer[2]" "$path"
    end
end

complete -c tokcli -k -f -a '(__tokcli_complete)'
"""

SCRIPTS = {"bash": BASH.lstrip(), "zsh": ZSH.lstrip(), "fish": FISH.lstrip()}
