#!/bin/sh
# A causal model that speaks nopeek's protocol, V=5 T=20, in a few lines; the argument makes it another:
#   nomask, plus1, block4   sees later positions
#   short                   a number too few in each row
#   nan                     a NaN in each row
#   random                  other numbers every time
# The answer at i is a mixture of what the tokens it sees stand for. One awk for each question, because some read
# ahead of a pipe.
asked=0
while read -r line; do
    asked=$((asked + 1))
    printf '%s\n' "$line" | awk -v fault="${1:-none}" -v asked=$asked '
    function embedding(token, v) { return sin(token * 7.3 + v * 3.1 + 1) + (fault == "random") * sin(asked * v) }
    function sees(i, j) {
        if (j <= i || fault == "nomask") return 1
        if (fault == "plus1") return j == i + 1
        return fault == "block4" && int(i / 4) == int(j / 4)
    }
    /hello/ { print "{\"vocab_size\":5,\"context\":20}"; next }
    {
        match($0, /\[[0-9,]*\]/)
        n = split(substr($0, RSTART + 1, RLENGTH - 2), tokens, ",")
        printf "{\"logits\":["
        for (i = 0; i < n; i++) {
            printf "%s[", i ? "," : ""
            for (v = 0; v < 5 - (fault == "short"); v++) {
                sum = count = 0
                for (j = 0; j < n; j++)
                    if (sees(i, j)) {
                        sum += embedding(tokens[j + 1], v)
                        count++
                    }
                printf "%s%s", v ? "," : "", fault == "nan" && v == 2 ? "NaN" : sprintf("%.9g", sum / count)
            }
            printf "]"
        }
        print "]}"
    }'
done
