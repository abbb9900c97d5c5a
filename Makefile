# nopeek: build, test, install. `make help` lists what there is.
#
# Wants GNU make 3.81 or later (macOS has no newer). Works in a folder whose name has blanks; BUILD
# itself may have none.
MAKEFLAGS += --no-builtin-rules --no-builtin-variables
.SUFFIXES:
.DEFAULT_GOAL := all
.DELETE_ON_ERROR:

# What a person may set, on the command line or in the environment.
ifneq ($(filter undefined default,$(origin CC)),)
CC := cc
endif
BUILD ?= build
CFLAGS ?= -O3 -g
CPPFLAGS ?=
LDFLAGS ?=
PKG_CONFIG ?= pkg-config
# openblas, or none: matrix products in plain C, which are several times slower.
BLAS ?= openblas
PREFIX ?= /usr/local
DESTDIR ?=
# address or undefined: build with that sanitizer. `make asan` and `make ubsan` set it, in folders of their own.
SANITIZE ?=
# V=1 shows whole commands.
V ?=
# A deliberate fault for the sanitizers to find (tests/plants/plant.c), and which tests to run.
PLANT ?=
TEST_FILTER ?=
# How long `make fuzz` runs each reader, which one (empty: all), and where its choices start (0: elsewhere each time).
SECONDS ?= 60
READER ?=
SEED ?= 0
FUZZ_CC ?= clang
# Options of `make bench`.
BENCH ?=
CLANG_FORMAT ?= clang-format
CLANG_TIDY ?= clang-tidy

# The demo: everything that decides its length and quality.
DEMO_TRAIN := data/bank.txt --block-size 256 --n-layer 3 --n-head 4 --n-embd 96 --batch-size 4 --steps 1900 --eval-interval 475
DEMO_EVAL := data/bank.txt --part val --stride 128
DEMO_GENERATE := -n 600 --temperature 0.8
TRAP := data/bank.txt --eval-interval 50

ifneq ($(words $(BUILD)),1)
$(error BUILD is "$(BUILD)": name one folder, without blanks)
endif

# Flags that are not a matter of taste. NaN, infinities and exact zeros carry meaning here, so whatever lets
# a compiler assume them away is taken out, wherever it was asked for, the linker's flags too: there the same words
# bring start-up code that switches subnormal numbers off. What comes past this, base/real.h refuses to compile.
# Assertions guard the kernels' preconditions in every build.
FAST_MATH := -ffast-math -funsafe-math-optimizations -ffinite-math-only -fassociative-math -freciprocal-math \
    -fno-signed-zeros -fno-honor-nans -fno-honor-infinities -fapprox-func -fcx-limited-range -fcx-fortran-rules \
    -fsingle-precision-constant -ffp-model=fast -ffp-model=aggressive -mdaz-ftz
exact = $(filter-out $(FAST_MATH),$(patsubst -Ofast,-O3,$(1)))
override CC := $(call exact,$(CC))
override CFLAGS := $(call exact,$(CFLAGS))
override CPPFLAGS := $(call exact,$(CPPFLAGS))
override LDFLAGS := $(call exact,$(LDFLAGS))
STD := -std=c11 -D_POSIX_C_SOURCE=200809L -fno-math-errno -fno-trapping-math -ffp-contract=off
ifeq ($(shell uname -s 2>/dev/null),Darwin)
STD += -D_DARWIN_C_SOURCE
endif
WARN := -Wall -Wextra -Wshadow -Wconversion
ifneq ($(SANITIZE),)
# The ordinary build warns; a sanitizer's own code misleads gcc's warnings.
WARN :=
SANITIZE_FLAGS := -DNOPEEK_SANITIZED -fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer -O1
endif

LAYERS := base kernels text io report model store diag train lab
SRC := $(sort $(wildcard $(LAYERS:%=src/%/*.c) $(LAYERS:%=src/%/*/*.c)))
CLI := $(sort $(wildcard src/cli/*.c))
SUPPORT := $(sort $(wildcard tests/support/*.c))
# Every test runs with real = float; what compares numbers runs with real = double as well.
FLOAT_TESTS := $(sort $(wildcard $(LAYERS:%=tests/%/*.c) $(LAYERS:%=tests/%/*/*.c) tests/cli/*.c tests/fuzz/test_*.c))
DOUBLE_TESTS := $(sort $(wildcard $(patsubst %,tests/%/*.c,base kernels kernels/x86 model diag) tests/*/test_golden*.c))
# Fuzz harnesses: `make test` replays their seeds, `make fuzz` runs them.
FUZZ := $(filter-out tests/fuzz/test_%.c tests/fuzz/entry.c tests/fuzz/main_seeds.c,$(sort $(wildcard tests/fuzz/*.c)))

float = $(1:%.c=$(BUILD)/float/%.o)
double = $(1:%.c=$(BUILD)/double/%.o)
FLOAT_OBJ := $(call float,$(SRC))
DOUBLE_OBJ := $(call double,$(SRC))
CLI_OBJ := $(call float,$(CLI))
# What the report's page looks like and how it behaves, as C.
ASSETS := $(sort $(wildcard src/report/assets/*))
ASSETS_OBJ := $(BUILD)/generated/assets.o
# Tests bring a main of their own.
CLI_TEST_OBJ := $(filter-out %/cli/main.o,$(CLI_OBJ))
FUZZ_OBJ := $(call float,$(FUZZ))
FLOAT_TEST_OBJ := $(call float,$(FLOAT_TESTS) $(SUPPORT)) $(FUZZ_OBJ)
DOUBLE_TEST_OBJ := $(call double,$(DOUBLE_TESTS) $(SUPPORT))
# A planted fault has programs of its own, so that it never stays behind in the ordinary ones.
ifneq ($(PLANT),)
WITH := -with-$(PLANT)
PLANT_TEST_OBJ := $(BUILD)/plants/$(PLANT)-test.o
PLANT_PROGRAM_OBJ := $(BUILD)/plants/$(PLANT)-program.o
endif
PROGRAM := $(BUILD)/nopeek$(WITH)
TEST_FLOAT := $(BUILD)/test-float$(WITH)
TEST_DOUBLE := $(BUILD)/test-double$(WITH)

# One argument of a shell command; one C string as such an argument.
quote = '$(subst ','\'',$(1))'
c_string = $(call quote,"$(subst ",\",$(subst \,\\,$(1)))")
absolute = $(if $(filter /%,$(1)),$(1),$(CURDIR)/$(1))

# What the machine has: found once, then included; nothing is asked of it to clean or to help.
ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),all)),)
STOP := $(shell CC=$(call quote,$(CC)) FLAGS=$(call quote,$(STD)) CFLAGS=$(call quote,$(CFLAGS)) \
    SANITIZE=$(call quote,$(SANITIZE_FLAGS)) CPPFLAGS=$(call quote,$(CPPFLAGS)) LDFLAGS=$(call quote,$(LDFLAGS)) \
    PKG_CONFIG=$(call quote,$(PKG_CONFIG)) BLAS=$(call quote,$(BLAS)) sh scripts/configure.sh $(BUILD))
ifneq ($(STOP),)
$(error $(STOP))
endif
include $(BUILD)/config.mk $(BUILD)/config-test.mk
# The folder's own place on this machine is compiled into the tests; the list of objects into the programs.
$(shell sh scripts/stamp.sh $(BUILD)/place $(call quote,$(CURDIR)))
$(shell sh scripts/stamp.sh $(BUILD)/objects $(call quote,$(ASSETS) $(CLI_OBJ) $(FLOAT_OBJ) $(FLOAT_TEST_OBJ) $(DOUBLE_TEST_OBJ)))
endif

# What a recipe shows: the word and the file, or the command itself with V=1.
say = $(if $(V),,@printf '%-4s %s\n' $(1) $@; )

# Other people's headers are system headers: their warnings are theirs.
system = $(patsubst -I%,-isystem%,$(1))
COMPILE := $(CC) $(CFLAGS) $(WARN) $(SANITIZE_FLAGS) -Isrc $(call system,$(LIB_CPPFLAGS)) $(CPPFLAGS) $(STD) -UNDEBUG
LINK := $(CC) $(CFLAGS) $(SANITIZE_FLAGS) $(LDFLAGS)
LIBS := $(LIB_LIBS) -lm -lpthread -ldl
# Tests know where the program and the source tree are: whole paths, as C strings.
COMPILE_TEST = $(COMPILE) -Itests $(call system,$(TEST_CPPFLAGS)) \
    -DNOPEEK_BINARY=$(call c_string,$(call absolute,$(PROGRAM))) -DNOPEEK_SOURCE=$(call c_string,$(CURDIR))
need_criterion = $(if $(TEST_MISSING),$(error $(TEST_MISSING)))

all: $(PROGRAM)

$(PROGRAM): $(CLI_OBJ) $(FLOAT_OBJ) $(ASSETS_OBJ) $(PLANT_PROGRAM_OBJ) $(BUILD)/objects
	$(call say,LINK)$(LINK) -o $@ $(filter %.o,$^) $(LIBS)
$(TEST_FLOAT): $(FLOAT_TEST_OBJ) $(CLI_TEST_OBJ) $(FLOAT_OBJ) $(ASSETS_OBJ) $(PLANT_TEST_OBJ) $(BUILD)/objects
	$(call say,LINK)$(LINK) -o $@ $(filter %.o,$^) $(TEST_LIBS) $(LIBS)
$(TEST_DOUBLE): $(DOUBLE_TEST_OBJ) $(DOUBLE_OBJ) $(ASSETS_OBJ) $(PLANT_TEST_OBJ) $(BUILD)/objects
	$(call say,LINK)$(LINK) -o $@ $(filter %.o,$^) $(TEST_LIBS) $(LIBS)

# The stamp names the files: one that goes is noticed too.
$(BUILD)/generated/assets.c: $(ASSETS) scripts/embed.sh $(BUILD)/objects
	@mkdir -p $(@D)
	$(call say,GEN)sh scripts/embed.sh $@ css $(filter %.css,$(ASSETS)) -- html $(filter %.html,$(ASSETS)) -- js $(filter %.js,$(ASSETS))
$(ASSETS_OBJ): $(BUILD)/generated/assets.c src/report/assets.h $(BUILD)/config.mk
	$(call say,CC)$(COMPILE) -c -o $@ $<
$(BUILD)/float/src/%.o: src/%.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -MMD -MP -c -o $@ $<
$(BUILD)/double/src/%.o: src/%.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -DNOPEEK_DOUBLE -MMD -MP -c -o $@ $<
# These want no Criterion. A rule for named files goes before one for a pattern.
$(FUZZ_OBJ) $(call float,tests/fuzz/main_seeds.c): $(BUILD)/float/%.o: %.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) -Itests -MMD -MP -c -o $@ $<
$(BUILD)/float/tests/%.o: tests/%.c $(BUILD)/config.mk $(BUILD)/config-test.mk $(BUILD)/place
	$(need_criterion)@mkdir -p $(@D)
	$(call say,CC)$(COMPILE_TEST) -MMD -MP -c -o $@ $<
$(BUILD)/double/tests/%.o: tests/%.c $(BUILD)/config.mk $(BUILD)/config-test.mk $(BUILD)/place
	$(need_criterion)@mkdir -p $(@D)
	$(call say,CC)$(COMPILE_TEST) -DNOPEEK_DOUBLE -MMD -MP -c -o $@ $<
PLANT_DEFINE := -DPLANT_$(subst -,_,$(PLANT))
$(BUILD)/plants/$(PLANT)-test.o: tests/plants/plant.c $(BUILD)/config.mk $(BUILD)/config-test.mk $(BUILD)/place
	$(need_criterion)@mkdir -p $(@D)
	$(call say,CC)$(COMPILE_TEST) $(PLANT_DEFINE) -DPLANT_IN_TEST -c -o $@ $<
$(BUILD)/plants/$(PLANT)-program.o: tests/plants/plant.c $(BUILD)/config.mk
	@mkdir -p $(@D)
	$(call say,CC)$(COMPILE) $(PLANT_DEFINE) -c -o $@ $<

# --- tests ---------------------------------------------------------------------------------------

test: $(PROGRAM) $(TEST_FLOAT) $(TEST_DOUBLE)
	@sh scripts/run_tests.sh $(call quote,$(TEST_FILTER)) $(TEST_FLOAT) $(TEST_DOUBLE)

# What calls OpenBLAS from several threads, on each build of it that is installed.
blas: $(PROGRAM) $(TEST_FLOAT) $(TEST_DOUBLE)
	@sh scripts/check_blas.sh $(call quote,$(or $(TEST_FILTER),@(gemm|linear|attention_ref|cmd_train)*/*)) $(TEST_FLOAT) $(TEST_DOUBLE)
asan:
	@+$(MAKE) BUILD=$(BUILD)/asan SANITIZE=address sanitized
ubsan:
	@+$(MAKE) BUILD=$(BUILD)/ubsan SANITIZE=undefined sanitized
sanitized: $(PROGRAM) $(TEST_FLOAT) $(TEST_DOUBLE)
	@sh scripts/run_sanitized.sh $(SANITIZE) $(BUILD)/logs $(call quote,$(TEST_FILTER)) $(TEST_FLOAT) $(TEST_DOUBLE)

# --- fuzzing -------------------------------------------------------------------------------------

# Each reader's harness under libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, SECONDS long, from seeds made
# anew and the corpus of earlier runs in $(BUILD)/fuzz/corpus. READER=name runs one of them; SEED=1 makes its choices
# repeatable from an empty corpus.
READERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(filter tests/fuzz/fuzz_%.c,$(FUZZ)))
FUZZERS := $(READERS:%=$(BUILD)/fuzz-%)
ifneq ($(filter-out $(READERS),$(READER)),)
$(error READER is "$(READER)": choose among $(READERS))
endif

fuzz:
	@sh scripts/run_fuzz.sh --compiler $(FUZZ_CC)
	@+$(MAKE) BUILD=$(BUILD)/fuzz CC=$(call quote,$(FUZZ_CC)) SANITIZE=fuzzer-no-link,address,undefined fuzz-run
fuzz-run: $(or $(READER:%=$(BUILD)/fuzz-%),$(FUZZERS)) $(BUILD)/make-seeds
	@$(BUILD)/make-seeds $(BUILD)/seeds
	@SEED=$(SEED) sh scripts/run_fuzz.sh $(BUILD) $(SECONDS) $(or $(READER),$(READERS))

# Of the commands only the options are fuzzed; what stands beside and above is not built with sanitizers for nothing.
FUZZ_LIB := $(call float,$(filter-out src/lab/% src/report/%,$(SRC)) \
    $(patsubst %,src/cli/%.c,compute nearest number option options train_options))
FUZZ_LINK = $(call say,LINK)$(LINK) -o $@ $(filter %.o,$^) $(LIBS)
$(FUZZERS): $(BUILD)/fuzz-%: $(BUILD)/entry-%.o $(FUZZ_OBJ) $(FUZZ_LIB) $(BUILD)/objects
	$(FUZZ_LINK) -fsanitize=fuzzer
$(BUILD)/make-seeds: $(call float,tests/fuzz/main_seeds.c) $(FUZZ_OBJ) $(FUZZ_LIB) $(BUILD)/objects
	$(FUZZ_LINK)
$(BUILD)/entry-%.o: tests/fuzz/entry.c tests/fuzz/fuzz.h $(BUILD)/config.mk
	$(call say,CC)$(COMPILE) -Itests -DFUZZ_READER=$* -c -o $@ $<

# --- faults --------------------------------------------------------------------------------------

# Every call of the system failed once, memory refused, disks full, a thousand kills: minutes. FAULTS=n tries every nth.
FAULTS ?= 1
DRIVE_SRC := tests/faults/drive.c $(addprefix tests/support/,ordeal.c folder.c injector.c)
$(BUILD)/faults-drive: $(DRIVE_SRC) $(wildcard tests/support/*.h) $(BUILD)/config.mk
	$(call say,LINK)$(CC) $(CFLAGS) $(STD) $(WARN) -Itests -Isrc -o $@ $(DRIVE_SRC)
$(BUILD)/faults-shim.so: tests/faults/shim.c $(BUILD)/config.mk
	$(call say,LINK)$(CC) $(CFLAGS) -std=c11 $(WARN) -shared -fPIC -o $@ $< -ldl
faults: $(PROGRAM) $(BUILD)/faults-drive $(BUILD)/faults-shim.so
	@sh scripts/check_faults.sh $(PROGRAM) $(BUILD)/faults-drive $(BUILD)/faults-shim.so $(FAULTS)

# --- the demo ------------------------------------------------------------------------------------

demo: $(PROGRAM)
	rm -rf $(BUILD)/demo
	$(PROGRAM) train -o $(BUILD)/demo $(DEMO_TRAIN)
	$(PROGRAM) eval $(BUILD)/demo $(DEMO_EVAL)
	@awk '/"validation"/ { part = 1 } part && /"entropy"/ { sub(/,$$/, "", $$2); \
	    print "true entropy of that part of the text: " $$2 " nats per character (data/bank.json)"; exit }' data/bank.json
	$(PROGRAM) generate $(BUILD)/demo $(DEMO_GENERATE)

# The README's picture; a page of the same goes to $(BUILD)/trap.html.
trap: $(PROGRAM)
	$(PROGRAM) trap $(TRAP) --svg data/trap.svg --html $(BUILD)/trap.html

# --- speed ---------------------------------------------------------------------------------------

# Training steps and writing on this machine, at the two usual shapes; BENCH='--preset small --json' measures otherwise.
bench: $(PROGRAM)
	@$(PROGRAM) bench $(BENCH)

# --- lint ----------------------------------------------------------------------------------------

LINT := lint-layers lint-plants lint-flags lint-configure lint-tree lint-headers lint-symbols lint-format lint-tidy lint-scripts
lint: $(LINT)
	@echo "lint: clean"
need_tool = $(if $(shell command -v $(1) 2>/dev/null),,$(error make lint needs $(1): on Debian and Ubuntu run scripts/setup.sh --lint))

lint-layers:
	@sh scripts/check_layers.sh
lint-plants:
	@sh scripts/check_lint_plants.sh
lint-flags:
	@MAKE=$(call quote,$(MAKE)) CC=$(call quote,$(CC)) sh scripts/check_flags.sh
lint-configure:
	@CC=$(call quote,$(CC)) sh scripts/check_configure.sh
lint-tree:
	@sh scripts/check_tree.sh
lint-headers: $(BUILD)/config.mk
	@sh scripts/check_headers.sh $(COMPILE)
lint-symbols: $(FLOAT_OBJ)
	@sh scripts/check_symbols.sh $(BUILD)/float/src
lint-format:
	$(call need_tool,$(CLANG_FORMAT))@find src tests -name '*.[ch]' -print0 | xargs -0 $(CLANG_FORMAT) --dry-run -Werror
lint-tidy: $(BUILD)/config.mk
	$(call need_tool,$(CLANG_TIDY))@CLANG_TIDY=$(CLANG_TIDY) sh scripts/check_tidy.sh $(SRC) $(CLI) -- \
	    $(STD) $(WARN) -Isrc $(call system,$(LIB_CPPFLAGS)) $(CPPFLAGS)
lint-scripts:
	$(call need_tool,shellcheck)@shellcheck scripts/*.sh .ci/run

# --- the rest ------------------------------------------------------------------------------------

# The man page and what shells complete come from the tables of options, by way of the program itself.
MAN = $(DESTDIR)$(PREFIX)/share/man/man1
BASH_COMPLETION = $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSH_COMPLETION = $(DESTDIR)$(PREFIX)/share/zsh/site-functions
install: $(PROGRAM)
	mkdir -p $(call quote,$(DESTDIR)$(PREFIX)/bin)
	install -m 755 $(PROGRAM) $(call quote,$(DESTDIR)$(PREFIX)/bin/nopeek)
	mkdir -p $(call quote,$(MAN)) $(call quote,$(BASH_COMPLETION)) $(call quote,$(ZSH_COMPLETION))
	$(PROGRAM) help --man > $(call quote,$(MAN)/nopeek.1)
	$(PROGRAM) help --completion bash > $(call quote,$(BASH_COMPLETION)/nopeek)
	$(PROGRAM) help --completion zsh > $(call quote,$(ZSH_COMPLETION)/_nopeek)

# Only a folder that this Makefile filled is removed.
clean:
	@if [ $(BUILD) = build ] || [ -e $(BUILD)/config.mk ] || [ ! -e $(BUILD) ]; then rm -rf $(BUILD); \
	else echo "clean: $(BUILD) was not made by this Makefile; remove it yourself" >&2; exit 1; fi

help:
	@echo "make            build $(BUILD)/nopeek"
	@echo "make test       run all tests, with real = float and double; TEST_FILTER='gemm/*' runs some"
	@echo "make demo       train on data/bank.txt, evaluate, write text"
	@echo "make trap       train twins, one without its mask; draws data/trap.svg and $(BUILD)/trap.html"
	@echo "make bench      speed and memory of training on this machine; BENCH='--threads 1' has options"
	@echo "make lint       format, flags, layers, headers, symbols, clang-tidy, shellcheck"
	@echo "make blas       tests of matrix products on each build of OpenBLAS that is installed"
	@echo "make asan       all tests under AddressSanitizer and LeakSanitizer"
	@echo "make ubsan      all tests under UndefinedBehaviorSanitizer"
	@echo "make fuzz       hostile input for every reader, by clang's libFuzzer; SECONDS=60 each, READER=safetensors alone"
	@echo "make faults     calls that fail, refused memory, full disks, 1,000 kills; FAULTS=20 tries every 20th"
	@echo "make install    program, man page and completions to PREFIX (/usr/local), under DESTDIR for packagers"
	@echo "make clean      remove $(BUILD)"
	@echo "Set CC=clang, CFLAGS='-O2 -g', BUILD=folder to build otherwise."
	@echo "BLAS=none does without OpenBLAS: matrix products in plain C, several times slower."
	@echo "V=1 shows every command."

-include $(patsubst %.o,%.d,$(sort $(CLI_OBJ) $(FLOAT_OBJ) $(DOUBLE_OBJ) $(FLOAT_TEST_OBJ) $(DOUBLE_TEST_OBJ) $(call float,tests/fuzz/main_seeds.c)))
.PHONY: all test fuzz fuzz-run blas asan ubsan sanitized faults demo trap bench lint $(LINT) install clean help
