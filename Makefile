# A thin front of the presets in CMakePresets.json.

DESTDIR ?=
SOURCES = find runtime hooks tests \( -name '*.h' -o -name '*.cc' -o -name '*.c' \)

.PHONY: help packages build release test demo check format tidy tidy-smoke asan asan-smoke tsan fuzz bench soak \
        hostile vm install clean

help: ## Says what there is to make
	@sed -n 's/^\([a-z -]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

demo: packages release ## Shows a container without and with sidecall, and what a call costs (root)
	@tests/demo/demo build/release/bin

test: packages build ## Builds and runs every test (as root: end-to-end tests need it)
	@ctest --preset dev

build: ## Programs and tests, optimised, with debug information: build/dev
	@cmake --preset dev
	@cmake --build --preset dev

release: ## What packages ship: build/release
	@cmake --preset release
	@cmake --build --preset release

check: format tidy ## Formatting, clang's warnings and clang-tidy

format: ## Formatting only; `make format FIX=1` mends it
	@$(SOURCES) -print0 | xargs -0 clang-format $(if $(FIX),-i,--dry-run --Werror)

tidy: ## clang's warnings and clang-tidy only
	@cmake --preset tidy
	@cmake --build --preset tidy
	@.ci/tidy build/tidy

tidy-smoke: ## The part of tidy that the gate runs: all but clang's static analyzer, half of its time
	@cmake --preset tidy
	@cmake --build --preset tidy
	@.ci/tidy build/tidy '--checks=-clang-analyzer-*'

asan tsan: ## Tests under sanitizers: addresses and undefined behaviour, or threads
	@cmake --preset $(subst asan,asan-ubsan,$@)
	@cmake --build --preset $(subst asan,asan-ubsan,$@)
	@ctest --preset $(subst asan,asan-ubsan,$@)

asan-smoke: ## The part of asan that the gate runs
	@cmake --preset asan-ubsan
	@cmake --build --preset asan-smoke
	@ctest --preset asan-smoke

fuzz: ## Fuzz targets, each run for a short while
	@cmake --preset fuzz
	@cmake --build --preset fuzz
	@ctest --test-dir build/fuzz --output-on-failure --no-tests=error

bench: release ## What a call costs against the bare loop (root)
	@build/release/bin/sidecall bench

soak: packages build ## Kills everything under load, then thousands of containers (root)
	@SIDECALL_PROGRAMS=build/dev/bin tests/soak/survival.py $(SOAK)
	@SIDECALL_PROGRAMS=build/dev/bin tests/soak/cycles.py $(CYCLES)

hostile: packages build ## Attacks in their long form, and what neighbours notice (root, 2 CPUs)
	@cd tests/e2e && SIDECALL_LONG=1 SIDECALL_PROGRAMS=$(CURDIR)/build/dev/bin \
	  /usr/bin/python3 -B -m pytest -p no:cacheprovider -q -rP test_hostile_container.py

vm: packages build ## Boots Debian's kernels with sidecall inside, on cgroup v2 alone (root)
	@SIDECALL_PROGRAMS=build/dev/bin tests/vm/run $(KERNELS)

install: release ## Installs the release build, below DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install build/release --strip

packages:
	@.ci/install-packages

clean: ## Removes every build
	@rm -rf build
