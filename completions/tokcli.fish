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
