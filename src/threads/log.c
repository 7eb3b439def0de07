/* Writing the log: all threads at once, each in blocks of its own. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "threads/lineage.h"
#include "threads/state.h"
#include "trace/varint.h"
#include "trace/writer.h"

/* The file is lengthened and mapped in pieces. */
#define PIECE_BYTES (UINT32_C(4) << 20)
#define PIECE_BLOCKS (PIECE_BYTES / RF_THREAD_LOG_BLOCK)
#define PIECES_MOST 65536u

static char *pieces[PIECES_MOST];

/* All of a piece's space is there before it is used, so that a full disk cannot become SIGBUS. */
static char *map_piece(uint32_t number) {
    char *known = __atomic_load_n(&pieces[number], __ATOMIC_ACQUIRE);
    if (known)
        return known;
    off_t begin = (off_t)number * PIECE_BYTES;
    int code, file = rf_threads.file.number;
    if (!rf_own_file_is_open(&rf_threads.file))
        return NULL; /* the program has closed it */
    struct rf_shield shield;
    rf_shield_raise(&shield);
    while ((code = posix_fallocate(file, begin, PIECE_BYTES)) == EINTR)
        continue;
    rf_shield_lower(&shield);
    char *mapped = code == 0
                       ? mmap(NULL, PIECE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, begin)
                       : MAP_FAILED;
    if (mapped == MAP_FAILED)
        return NULL;
    madvise(mapped, PIECE_BYTES, MADV_RANDOM); /* there is nothing to be read ahead */
    if (__atomic_compare_exchange_n(&pieces[number], &known, mapped, false, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
        return mapped;
    munmap(mapped, PIECE_BYTES); /* another thread was faster */
    return known;
}

static struct rf_thread_log_block *new_block(uint32_t *number) {
    *number = __atomic_fetch_add(&rf_threads.head->blocks, 1, __ATOMIC_RELAXED);
    uint32_t piece = *number / PIECE_BLOCKS;
    char *mapped = piece < PIECES_MOST ? map_piece(piece) : NULL;
    return mapped ? (struct rf_thread_log_block *)(mapped + (size_t)(*number % PIECE_BLOCKS) *
                                                                RF_THREAD_LOG_BLOCK)
                  : NULL;
}

enum { LOG_PATH = sizeof rf_threads.trace + 48 };

static void path_of_log(char path[LOG_PATH]) {
    if (rf_threads.rank >= 0)
        snprintf(path, LOG_PATH, "%s/rank-%d.threads", rf_threads.trace, rf_threads.rank);
    else
        snprintf(path, LOG_PATH, "%s/process-%016" PRIx64 ".threads", rf_threads.trace,
                 rf_lineage());
}

/* Who it will be is written down first: a log with a number that no process finds again would never
   be played. */
void rf_log_name(int rank) {
    char before[LOG_PATH], after[LOG_PATH];
    path_of_log(before);
    rf_lineage_write(rf_threads.trace, rank);
    rf_threads.rank = rank;
    path_of_log(after);
    rename(before, after);
}

void rf_log_forget(void) {
    if (!rf_threads.head)
        return;
    for (uint32_t i = 0; i < PIECES_MOST && i <= rf_threads.head->blocks / PIECE_BLOCKS; i++)
        pieces[i] = NULL;
    rf_threads.head = NULL;
    rf_own_file_close(&rf_threads.file);
}

bool rf_log_open(struct rf_error *error) {
    char path[LOG_PATH];
    path_of_log(path);
    rf_threads.file = rf_own_file(open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    if (rf_threads.file.number < 0)
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: cannot be created: %s", path,
                       strerror(errno));
    char *mapped = map_piece(0);
    if (!mapped) {
        unlink(path);
        return rf_fail(error, RF_EXIT_ENVIRONMENT, "%s: no room for it", path);
    }
    struct rf_thread_log_head *head = (struct rf_thread_log_head *)mapped;
    head->version = RF_THREAD_LOG_VERSION;
    head->block_bytes = RF_THREAD_LOG_BLOCK;
    head->order = rf_threads.order;
    head->first_block = head->blocks = sizeof *head / RF_THREAD_LOG_BLOCK;
    head->sites = 1; /* 0 is anywhere */
    head->rank = rf_threads.rank;
    head->pid = getpid();
    ssize_t length = readlink("/proc/self/exe", head->program, sizeof head->program - 1);
    head->program[length > 0 ? length : 0] = 0;
    memcpy(head->magic, RF_THREAD_LOG_MAGIC, sizeof head->magic);
    head->check = rf_thread_log_check(head);
    rf_threads.head = head;
    return true;
}

static void use_block(struct rf_thread *self, struct rf_thread_log_block *block, size_t taken) {
    self->block = block;
    self->at = (uint8_t *)(block + 1) + taken;
    self->limit = (uint8_t *)block + RF_THREAD_LOG_BLOCK - 8;
}

bool rf_log_begin(struct rf_thread *self, uint32_t parent) {
    uint32_t number;
    struct rf_thread_log_block *block = new_block(&number);
    if (!block)
        return false;
    self->record = (struct rf_thread_log_thread *)(block + 1);
    self->record->number = block->thread = self->number;
    self->record->parent = parent;
    use_block(self, block, sizeof *self->record);
    __atomic_store_n(&block->begun, 1, __ATOMIC_RELEASE);
    return true;
}

void rf_log_count_all(void) {
    for (uint32_t i = 0; i < rf_threads.head->threads && i < RF_THREAD_LOG_THREADS; i++) {
        struct rf_thread_log_thread *record =
            __atomic_load_n(&rf_threads.records[i], __ATOMIC_ACQUIRE);
        if (record)
            record->at_exit = __atomic_load_n(&record->done, __ATOMIC_ACQUIRE);
    }
}

/* Nothing more is recorded from here on; what this thread still counts is counted nowhere, and what
   others count is not all that they do. */
static bool stop(struct rf_thread *self) {
    static struct rf_thread_log_thread nowhere;
    if (!__atomic_exchange_n(&rf_threads.stopped, true, __ATOMIC_ACQ_REL)) {
        rf_log_count_all();
        __atomic_store_n(&rf_threads.head->stopped, 1, __ATOMIC_RELEASE);
        rf_threads.on = false;
    }
    self->record = &nowhere;
    return false;
}

static bool next_block(struct rf_thread *self) {
    uint32_t number;
    int before = errno;
    struct rf_thread_log_block *block = new_block(&number);
    errno = before;
    if (!block)
        return stop(self);
    block->thread = self->number;
    block->place = self->block->place + 1;
    block->begun = 1;
    __atomic_store_n(&self->block->next, number, __ATOMIC_RELEASE);
    use_block(self, block, 0);
    return true;
}

/* The first eight bytes last and at once: an entry is there or it is not. */
static bool put(struct rf_thread *self, const uint8_t *entry, size_t size) {
    size_t stored = size < 8 ? 8 : size;
    if (__builtin_expect(self->at + stored > self->limit, 0) && !next_block(self))
        return false;
    uint8_t *at = self->at;
    if (size > 8)
        memcpy(at + 8, entry + 8, size - 8);
    uint64_t first;
    memcpy(&first, entry, sizeof first);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __asm__ volatile("movq %1, %0" : "=m"(*(char(*)[8])at) : "r"(first));
    self->at += size;
    self->failures = NULL;
    return true;
}

static uint8_t *put_type(const struct rf_thread *self, uint8_t *at, uint64_t operation,
                         enum rf_thread_log_type type) {
    return rf_varint_put(at, (operation - self->logged) * RF_THREAD_LOG_TYPES + type);
}

/* ---- sites ---- */

static int sites_lock;

static uint32_t intern_module(const struct rf_module *module) {
    struct rf_thread_log_head *head = rf_threads.head;
    for (uint32_t i = 0; i < head->modules; i++)
        if (strcmp(head->module[i].path, module->path) == 0)
            return i;
    if (head->modules == RF_THREAD_LOG_MODULES)
        return RF_THREAD_LOG_MODULES;
    struct rf_log_module *entry = &head->module[head->modules];
    memcpy(entry->path, module->path, sizeof entry->path);
    memcpy(entry->build_id, module->build_id, sizeof entry->build_id);
    entry->build_id_length = module->build_id_length;
    entry->check = rf_log_module_check(entry, head->modules);
    __atomic_store_n(&head->modules, head->modules + 1, __ATOMIC_RELEASE);
    return head->modules - 1;
}

/* 0: it is not in the table. */
static uint32_t find_site(const struct rf_thread_log_site *site) {
    const struct rf_thread_log_head *head = rf_threads.head;
    for (uint32_t i = 1; i < head->sites; i++)
        if (head->site[i].operation == site->operation && head->site[i].module == site->module &&
            head->site[i].offset == site->offset)
            return i;
    return 0;
}

static uint32_t add_site(struct rf_thread_log_site site) {
    struct rf_thread_log_head *head = rf_threads.head;
    uint32_t number = head->sites;
    site.check = rf_thread_log_site_check(&site, number);
    head->site[number] = site;
    __atomic_store_n(&head->sites, number + 1, __ATOMIC_RELEASE);
    return number;
}

/* Once for each place in the program, and then only if something was to be logged there. The end of
   the table is kept for operations without a place: a replay has to know what was done. */
static uint32_t learn_site(enum rf_operation what, uintptr_t address) {
    const struct rf_address *where = rf_address_of(address);
    while (__atomic_exchange_n(&sites_lock, 1, __ATOMIC_ACQUIRE))
        __builtin_ia32_pause();
    uint32_t module = intern_module(&where->module);
    struct rf_thread_log_site site = {(uint16_t)what, (uint16_t)module, 0, where->offset};
    uint32_t number = find_site(&site);
    if (!number && (module == RF_THREAD_LOG_MODULES ||
                    rf_threads.head->sites >= RF_THREAD_LOG_SITES - RF_OPERATIONS)) {
        site.module = RF_THREAD_LOG_MODULES;
        site.offset = 0;
        number = find_site(&site);
    }
    if (!number)
        number = add_site(site);
    __atomic_store_n(&sites_lock, 0, __ATOMIC_RELEASE);
    return number;
}

static uint32_t site_of(struct rf_thread *self, enum rf_operation what, uintptr_t address) {
    uint64_t key = address ^ (uint64_t)what << 48;
    struct rf_thread_site *known = &self->sites[key * 0x9e3779b97f4a7c15u >> 58];
    if (__builtin_expect(known->key != key, 0)) {
        self->inside++;
        *known = (struct rf_thread_site){key, learn_site(what, address)};
        self->inside--;
    }
    return known->site;
}

/* ---- entries ---- */

void rf_log_check(struct rf_thread *self) {
    uint64_t done = self->record->done;
    if (self->checked == done)
        return;
    uint8_t entry[16] = {0};
    uint8_t *at = put_type(self, entry, done, RF_THREAD_LOG_CHECK);
    rf_end_run(self);
    uint16_t sum = rf_thread_log_signed(self->signature);
    *at++ = (uint8_t)sum;
    *at++ = (uint8_t)(sum >> 8);
    if (put(self, entry, (size_t)(at - entry)))
        self->logged = self->checked = done;
}

/* Where something is written anyway, the signature of what led there may go with it. Returns the
   operation that is being recorded. */
static uint64_t begin_entry(struct rf_thread *self) {
    uint64_t done = self->record->done;
    if (__builtin_expect(rf_thread_log_checks(done, self->checked), 0))
        rf_log_check(self);
    return done + 1;
}

void rf_log_edge(struct rf_thread *self, enum rf_operation what, uintptr_t address, uint32_t thread,
                 uint64_t count) {
    uint64_t operation = begin_entry(self);
    uint8_t entry[48] = {0};
    uint8_t *at = put_type(self, entry, operation, RF_THREAD_LOG_EDGE);
    at = rf_varint_put(at, site_of(self, what, address));
    at = rf_varint_put(at, thread);
    struct rf_thread_log_known *known = &self->known[thread % RF_THREAD_LOG_KNOWN];
    if (known->thread != thread)
        *known = (struct rf_thread_log_known){thread, 0};
    if (count < known->count)
        count = known->count; /* written although it is known */
    at = rf_varint_put(at, count - known->count);
    if (put(self, entry, (size_t)(at - entry)))
        self->logged = operation;
    known->count = count;
}

void rf_log_number(struct rf_thread *self, enum rf_thread_log_type type, enum rf_operation what,
                   uintptr_t address, uint64_t number) {
    uint64_t operation = begin_entry(self);
    uint8_t entry[48] = {0};
    uint8_t *at = put_type(self, entry, operation, type);
    at = rf_varint_put(at, site_of(self, what, address));
    at = rf_varint_put(at, number);
    if (put(self, entry, (size_t)(at - entry)))
        self->logged = operation;
}

void rf_value_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                     int64_t value) {
    rf_log_number(self, RF_THREAD_LOG_VALUE, what, address,
                  (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
    rf_commit(self, what);
}

void rf_bytes_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                     const void *bytes, size_t size) {
    enum { MOST = 128 };
    uint64_t operation = begin_entry(self);
    size_t done = 0;
    do {
        size_t here = size - done < MOST ? size - done : MOST;
        uint8_t entry[MOST + 48] = {0};
        uint8_t *at = put_type(self, entry, operation, RF_THREAD_LOG_BYTES);
        at = rf_varint_put(at, site_of(self, what, address));
        at = rf_varint_put(at, size);
        at = rf_varint_put(at, here);
        memcpy(at, (const char *)bytes + done, here);
        if (!put(self, entry, (size_t)(at - entry) + here))
            break;
        self->logged = operation;
        done += here;
    } while (done < size);
    rf_commit(self, what);
}

/* Most failures are like the one before, and many of them come in a row. */
void rf_failure_record(struct rf_thread *self, enum rf_operation what, uintptr_t address,
                       int code) {
    uint64_t operation = self->record->done + 1;
    uint32_t site = site_of(self, what, address);
    uint64_t failure = (uint64_t)site << 32 | (uint32_t)code;
    bool again = self->failure == failure;
    if (again && self->failures && self->failing == operation && *self->failures < UINT8_MAX) {
        ++*self->failures;
    } else {
        begin_entry(self);
        uint8_t entry[48] = {0};
        uint8_t *at =
            put_type(self, entry, operation, again ? RF_THREAD_LOG_AGAIN : RF_THREAD_LOG_FAILURE);
        if (!again) {
            at = rf_varint_put(at, site);
            at = rf_varint_put(at, (uint64_t)code);
        }
        *at = 1;
        if (put(self, entry, (size_t)(at - entry) + 1)) {
            self->logged = operation;
            self->failures = self->at - 1;
            self->failure = failure;
        }
    }
    self->failing = operation + 1;
    rf_commit(self, what);
}
