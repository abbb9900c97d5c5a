/* The grammar of data/bank.txt: short stories about banks of rivers and banks with money. */
#ifndef TEXT_BANK_H
#define TEXT_BANK_H

#include "text/grammar.h"

extern const struct grammar_source bank_source;

#endif
