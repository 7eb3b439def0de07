# A front for CMake: `make`, `make demo`, `make test`, `make install PREFIX=...`.
# Everything is built in build/; build/refrain runs from there.
PREFIX ?= /usr/local
BUILD ?= build
JOBS ?= $(shell nproc)
# A job of some ranks waits for its launcher half of the time.
TEST_JOBS ?= $(shell expr $$(nproc) + $$(nproc) / 2)

.PHONY: all setup configure demo test soak bench style install clean

all: configure
	@cmake --build $(BUILD) -j $(JOBS)

setup:
	@scripts/setup

configure: setup
	@[ -f $(BUILD)/Makefile ] || cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_FLAGS)

demo: all
	@scripts/demo $(BUILD)

test: all
	@ctest --test-dir $(BUILD) --output-on-failure -LE soak -j $(TEST_JOBS)

soak: all
	@scripts/setup hpcc lammps mumps-test abyss ray
	@scripts/soak $(BUILD)

bench: all
	@$(BUILD)/refrain bench order

style: configure
	@scripts/style $(BUILD)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

clean:
	@rm -rf $(BUILD)
