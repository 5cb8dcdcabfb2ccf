# Builds a checker in C, up to the core module that `gpud plugin build` makes the component of. A project's Makefile sets
# these and includes this file:
#
#   NAME      what the module is called: build/$(NAME).core.wasm
#   SOURCES   the checker's C files
#   TESTS     the C files of its unit tests (with main), compiled for this machine together with SOURCES
#   EXPORTS   what it has beside the checker: scanner, kmsg-watcher
#   GPUD_SDK  this folder
#
#   make        the core module; `gpud plugin build` calls this, and then adds the component's type from wit/
#   make test   the unit tests
#   make clean
#
# Tools (setup.sh installs them): clang and lld as WASM_CC, any C compiler as CC.
# `make WASM_CC="python3 -m ziglang cc"` builds with the zig package of PyPI although there is a clang.

.DEFAULT_GOAL := all
BUILD   ?= build
EXPORTS ?=

GPUD_SDK_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# Where there is no clang, what setup.sh fetched in its place.
GPUD_TOOLS ?= $(HOME)/.local/share/gpud-tools
GPUD_CLANG := $(firstword $(foreach c,clang-22 clang-21 clang-20 clang-19 clang,$(if $(shell command -v $(c)),$(c))))
GPUD_ZIG   := $(wildcard $(GPUD_TOOLS)/zig/bin/python)
WASM_CC    ?= $(or $(GPUD_CLANG),$(if $(GPUD_ZIG),$(GPUD_ZIG) -m ziglang cc),clang)

GPUD_HEADERS := $(wildcard $(GPUD_SDK_DIR)/include/*.h $(GPUD_SDK_DIR)/src/*.h $(GPUD_SDK_DIR)/libc/*.h) $(wildcard *.h)
GPUD_COMMON  := $(addprefix $(GPUD_SDK_DIR)/src/,report.c text.c json.c)
GPUD_WASM    := $(addprefix $(GPUD_SDK_DIR)/src/,memory.c host.c nvml.c exports.c) $(GPUD_SDK_DIR)/generated/gpud_wit.c

# No standard library: what a checker needs of one is in libc/ and src/memory.c. zig names the target otherwise.
WASM_TARGET ?= $(if $(findstring zig,$(WASM_CC)),wasm32-freestanding,wasm32-unknown-unknown)
WASM_FLAGS = --target=$(WASM_TARGET) -std=c11 -O2 -flto -ffreestanding -nostdlibinc -isystem $(GPUD_SDK_DIR)/libc \
	-I $(GPUD_SDK_DIR)/include -I $(GPUD_SDK_DIR)/generated -Wall -Wextra \
	$(if $(filter scanner,$(EXPORTS)),-DGPUD_EXPORT_SCANNER) \
	$(if $(filter kmsg-watcher,$(EXPORTS)),-DGPUD_EXPORT_KMSG_WATCHER)
# The stack is below the data, so that an overflow traps instead of writing over them (zig does not take the option).
WASM_LINK = -nostdlib -Wl,--no-entry -Wl,--gc-sections -Wl,-z,stack-size=65536 \
	$(if $(findstring zig,$(WASM_CC)),,-Wl,--stack-first)
TEST_FLAGS = -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Wall -Wextra \
	-I $(GPUD_SDK_DIR)/include -I $(GPUD_SDK_DIR)/testing -I .

.PHONY: all test clean
all: $(BUILD)/$(NAME).core.wasm

$(BUILD)/$(NAME).core.wasm: $(SOURCES) $(GPUD_COMMON) $(GPUD_WASM) $(GPUD_HEADERS) $(MAKEFILE_LIST)
	@mkdir -p $(BUILD)
	$(WASM_CC) $(WASM_FLAGS) $(CFLAGS) $(WASM_LINK) -o $@ $(SOURCES) $(GPUD_COMMON) $(GPUD_WASM)

$(BUILD)/test: $(TESTS) $(SOURCES) $(GPUD_COMMON) $(wildcard $(GPUD_SDK_DIR)/testing/gpud_testing*) $(GPUD_HEADERS) \
		$(MAKEFILE_LIST)
	@mkdir -p $(BUILD)
	$(CC) $(TEST_FLAGS) $(CFLAGS) -o $@ $(TESTS) $(SOURCES) $(GPUD_COMMON) $(GPUD_SDK_DIR)/testing/gpud_testing.c -lm

test: $(BUILD)/test
	$(BUILD)/test

clean:
	rm -rf $(BUILD)
