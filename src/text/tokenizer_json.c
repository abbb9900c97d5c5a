/* Writes tokenizer.json and tokenizer_config.json, declared in tokenizer.h. The format is that of
 * https://github.com/huggingface/tokenizers; every object has the fields that the library itself writes. */
#include <stdio.h>
#include <string.h>

#include "text/tokenizer.h"

/* Longer than one character, so that it never is a symbol: the library then refuses an unknown character. */
static const char UNKNOWN[] = "<unknown>";
static const char VERSION[] = "1.0";

void tokenizer_byte_alphabet(uint32_t code[256])
{
    uint32_t next = 256;
    for (uint32_t b = 0; b < 256; b++) {
        const bool prints = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        code[b] = prints ? b : next++;
    }
}

#define KEY_SIZE 32

/* What an id is called in the file. */
static void write_key(char key[KEY_SIZE], const struct tokenizer *t, const uint32_t alphabet[256], uint32_t id)
{
    uint8_t bytes[TOKENIZER_SYMBOL_SIZE];
    size_t n;
    if (!tokenizer_knows(t, id)) {
        snprintf(key, KEY_SIZE, "<unused %lu>", (unsigned long)id);
        return;
    }
    if (t->kind == TOKENIZER_BYTES)
        n = utf8_encode(alphabet[t->symbol ? t->symbol[id] : id], bytes);
    else
        n = tokenizer_decode(t, id, bytes);
    memcpy(key, bytes, n);
    key[n] = '\0';
}

/* {"a": 0, "b": 1, ...}, or NULL when memory is refused. */
static json_t *vocabulary(const struct tokenizer *t)
{
    uint32_t alphabet[256];
    tokenizer_byte_alphabet(alphabet);
    json_t *vocab = json_object();
    for (size_t id = 0; vocab && id < t->size; id++) {
        char key[KEY_SIZE];
        write_key(key, t, alphabet, (uint32_t)id);
        if (json_object_set_new(vocab, key, json_integer((json_int_t)id)) != 0) {
            json_decref(vocab);
            return NULL;
        }
    }
    return vocab;
}

/* How text becomes the words that the model looks up, and how words become text again. */
static json_t *pre_tokenizer(enum tokenizer_kind kind)
{
    if (kind == TOKENIZER_BYTES)
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                         "use_regex", 0);
    if (kind == TOKENIZER_IDS)
        return json_pack("{s:s}", "type", "WhitespaceSplit");
    return json_pack("{s:s, s:{s:s}, s:s, s:b}", "type", "Split", "pattern", "Regex", "[\\s\\S]", "behavior",
                     "Isolated", "invert", 0);
}

static json_t *decoder(enum tokenizer_kind kind)
{
    if (kind == TOKENIZER_BYTES)
        return json_pack("{s:s, s:b, s:b, s:b}", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1,
                         "use_regex", 0);
    /* None: the library then puts a blank between two words. */
    return kind == TOKENIZER_IDS ? json_null() : json_pack("{s:s}", "type", "Fuse");
}

/* Takes the reference to vocab. */
static json_t *model(enum tokenizer_kind kind, json_t *vocab)
{
    if (kind != TOKENIZER_BYTES)
        return json_pack("{s:s, s:o, s:s}", "type", "WordLevel", "vocab", vocab, "unk_token", UNKNOWN);
    return json_pack("{s:s, s:n, s:n, s:n, s:n, s:b, s:b, s:b, s:o, s:[]}", "type", "BPE", "dropout", "unk_token",
                     "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", 0, "byte_fallback", 0,
                     "ignore_merges", 0, "vocab", vocab, "merges");
}

json_t *tokenizer_to_json(const struct tokenizer *t)
{
    json_t *vocab = vocabulary(t);
    if (!vocab)
        return NULL;
    return json_pack("{s:s, s:n, s:n, s:[], s:n, s:o, s:n, s:o, s:o}", "version", VERSION, "truncation", "padding",
                     "added_tokens", "normalizer", "pre_tokenizer", pre_tokenizer(t->kind), "post_processor", "decoder",
                     decoder(t->kind), "model", model(t->kind, vocab));
}

json_t *tokenizer_config_json(size_t block_size)
{
    /* model_input_names: without it transformers adds token_type_ids, which GPT-2 would take for tokens and add
     * to the embeddings. */
    return json_pack("{s:s, s:b, s:I, s:[s,s]}", "tokenizer_class", "PreTrainedTokenizerFast",
                     "clean_up_tokenization_spaces", 0, "model_max_length", (json_int_t)block_size, "model_input_names",
                     "input_ids", "attention_mask");
}
