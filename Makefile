# nopeek: build, test, install. `make help` lists what there is.
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.DEFAULT_GOAL := all

CC ?= cc
ifeq ($(origin CC),default)
CC := cc
endif
BUILD ?= build
CFLAGS ?= -O3 -g
WARN := -Wall -Wextra -Wshadow -Wconversion
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -fno-math-errno -fno-trapping-math -ffp-contract=off
OPENMP ?= -fopenmp
PKGS := jansson libutf8proc libxxhash openblas
CPPFLAGS_ALL := -Isrc $(shell pkg-config --cflags $(PKGS)) $(CPPFLAGS)
LIBS := $(shell pkg-config --libs $(PKGS)) -lm

SRC := $(sort $(wildcard src/base/*.c src/kernels/*.c src/text/*.c src/io/*.c src/report/*.c src/model/*.c src/store/*.c src/diag/*.c src/train/*.c src/lab/*.c))
CLI := $(sort $(wildcard src/cli/*.c))
FLOAT_OBJ := $(SRC:src/%.c=$(BUILD)/float/%.o)
DOUBLE_OBJ := $(SRC:src/%.c=$(BUILD)/double/%.o)
CLI_OBJ := $(CLI:src/%.c=$(BUILD)/float/%.o)
TESTS := $(sort $(wildcard tests/*/test_*.c tests/support/*.c))
FLOAT_TEST_OBJ := $(TESTS:tests/%.c=$(BUILD)/float/tests/%.o)
DOUBLE_TEST_OBJ := $(TESTS:tests/%.c=$(BUILD)/double/tests/%.o)

all: $(BUILD)/nopeek

$(BUILD)/nopeek: $(CLI_OBJ) $(FLOAT_OBJ)
	$(CC) $(CFLAGS) $(OPENMP) $(LDFLAGS) -o $@ $^ $(LIBS)

$(BUILD)/float/%.o: src/%.c
	@mkdir -p "$(@D)"
	$(CC) $(STD) $(WARN) $(CFLAGS) $(OPENMP) $(CPPFLAGS_ALL) -MMD -MP -c -o $@ $<
$(BUILD)/double/%.o: src/%.c
	@mkdir -p "$(@D)"
	$(CC) $(STD) $(WARN) $(CFLAGS) $(OPENMP) $(CPPFLAGS_ALL) -DNOPEEK_DOUBLE -MMD -MP -c -o $@ $<
$(BUILD)/float/tests/%.o: tests/%.c
	@mkdir -p "$(@D)"
	$(CC) $(STD) $(CFLAGS) $(OPENMP) $(CPPFLAGS_ALL) -Itests -MMD -MP -c -o $@ $<
$(BUILD)/double/tests/%.o: tests/%.c
	@mkdir -p "$(@D)"
	$(CC) $(STD) $(CFLAGS) $(OPENMP) $(CPPFLAGS_ALL) -Itests -DNOPEEK_DOUBLE -MMD -MP -c -o $@ $<

$(BUILD)/test-float: $(FLOAT_TEST_OBJ) $(FLOAT_OBJ)
	$(CC) $(CFLAGS) $(OPENMP) $(LDFLAGS) -o $@ $^ $(LIBS) -lcriterion
$(BUILD)/test-double: $(DOUBLE_TEST_OBJ) $(DOUBLE_OBJ)
	$(CC) $(CFLAGS) $(OPENMP) $(LDFLAGS) -o $@ $^ $(LIBS) -lcriterion

test: $(BUILD)/nopeek $(BUILD)/test-float $(BUILD)/test-double
	$(BUILD)/test-float
	$(BUILD)/test-double

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD) -name '*.d' 2>/dev/null)
.PHONY: all test clean
