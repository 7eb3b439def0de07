/* The models of the columns. docs/format.md describes them step by step; every choice here is part
   of the format. */
#include "codec.h"

#include <sys/mman.h>

#include "coder.h"
#include "log.h"
#include "varint.h"

#define GENERAL_MODELS 64u
#define SPECIAL_MODELS 256u
#define DICTIONARY 4096u
#define DICTIONARY_HASH 8192u
#define GUESSES 4096u
#define NOWHERE 0xffffu
#define MAX_CONFIDENCE 15u
#define STEADY 3u
#define PREFIX_ROOM (768u << 10)
#define SPARES 2u /* those that code at the same time rarely are more */
#define OUTPUT_ROOM ((size_t)RF_SEGMENT_SLOTS * 16)

/* What is told of an entry together with its word. */
#define FIRST_SAME 1u /* as in the word's last entry */
#define SECOND_SAME 2u
#define RUN_ONE 4u /* one event, or a list of one item */
#define SHAPE_FLAGS 8u

/* 2^14 / (n + 1.5), down to 1/16 for the fast and 1/64 for the slow estimate. */
const uint16_t rf_rate_fast[16] = {10923, 6554, 4681, 3641, 2979, 2521, 2185, 1928,
                                   1725,  1560, 1425, 1311, 1214, 1130, 1057, 1024};
const uint16_t rf_rate_slow[16] = {10923, 6554, 4681, 3641, 2979, 2521, 2185, 1928,
                                   1725,  1560, 1425, 1311, 1214, 1130, 1057, 256};

/* Sums below `symbol` go to the bottom, those above to the top. */
#define TARGET(symbol, i) (2 * (i) + ((i) > (symbol) ? 32768 - 2 * RF_SYMBOLS : 0))
#define FOUR(symbol, i)                                                                            \
    TARGET(symbol, i), TARGET(symbol, (i) + 1), TARGET(symbol, (i) + 2), TARGET(symbol, (i) + 3)
#define ROW(symbol)                                                                                \
    { FOUR(symbol, 0), FOUR(symbol, 4), FOUR(symbol, 8), FOUR(symbol, 12) }
const uint16_t rf_symbol_target[RF_SYMBOLS][RF_SYMBOLS] = {
    ROW(0), ROW(1), ROW(2),  ROW(3),  ROW(4),  ROW(5),  ROW(6),  ROW(7),
    ROW(8), ROW(9), ROW(10), ROW(11), ROW(12), ROW(13), ROW(14), ROW(15)};

/* What followed a context last time, and how often in a row that was right. */
struct guess {
    uint16_t position;
    uint8_t confidence;
    uint8_t check; /* of the context, since many share a place */
};

/* What was last seen of one packed word. */
struct memory {
    int32_t first, second;
    uint64_t seen;          /* values of `first`, modulo 64, since one came twice */
    uint32_t count;         /* how many these are */
    uint32_t cycle, steady; /* how many there were then, and how often in a row that many */
    uint32_t run_class;
    uint32_t list;                /* position of the last list's header, NOWHERE: none */
    uint16_t shapes[SHAPE_FLAGS]; /* encoder: 1 + number of the shape, 0: there was none */
};

/* The numbers that entries consist of. */
enum column { SHAPE, WORD, FIRST, SECOND, RUN, ITEMS, COLUMNS };

struct rf_codec {
    uint32_t epoch;
    struct rf_coder coder;
    struct rf_node_bit event_flags[MAX_CONFIDENCE + 1], run_flags[MAX_CONFIDENCE + 1];
    struct guess guesses[GUESSES];
    uint32_t context, none_context; /* of the next guess */
    uint32_t words[DICTIONARY];
    uint32_t word_count;
    uint16_t find[DICTIONARY_HASH];            /* encoder: 1 + number of the word */
    struct memory memories[DICTIONARY + 1];    /* one more than words, for the encoder */
    uint16_t shapes[DICTIONARY * SHAPE_FLAGS]; /* number of the word * SHAPE_FLAGS + flags */
    uint32_t shape_count;
    uint32_t previous_shape, older_shape, cycle_place;
    uint16_t shape_at[RF_SEGMENT_SLOTS]; /* of the entry at each position */
    uint32_t previous_call;
    const uint8_t *late_at, *late_end;
    struct rf_number general[COLUMNS * GENERAL_MODELS], special[COLUMNS * SPECIAL_MODELS];
    struct rf_symbol general_rest[RF_REST * COLUMNS * GENERAL_MODELS];
    struct rf_symbol special_rest[RF_REST * COLUMNS * SPECIAL_MODELS];
    uint8_t *prefix_at;
    uint8_t prefix[PREFIX_ROOM];
    uint8_t lates[PREFIX_ROOM];
    uint8_t output[OUTPUT_ROOM];
};

size_t rf_codec_bytes(void) {
    return sizeof(struct rf_codec);
}

static struct rf_codec *spare[SPARES];

/* Fresh pages instead of malloc: much of a codec is never touched. */
struct rf_codec *rf_codec_take(void) {
    struct rf_codec *codec = NULL;
    for (unsigned i = 0; i < SPARES; i++)
        if ((codec = __atomic_exchange_n(&spare[i], NULL, __ATOMIC_ACQUIRE)))
            return codec;
    void *memory =
        mmap(NULL, sizeof *codec, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

void rf_codec_give_back(struct rf_codec *codec) {
    for (unsigned i = 0; i < SPARES && codec; i++)
        codec = __atomic_exchange_n(&spare[i], codec, __ATOMIC_ACQ_REL);
    if (codec)
        munmap(codec, sizeof *codec);
}

static inline uint32_t mix(uint32_t a, uint32_t b) {
    uint32_t h = (a ^ b * 0x9e3779b1u) * 0x85ebca6bu;
    return h ^ h >> 15;
}

static inline unsigned flags_of(uint32_t what) {
    return rf_kind_flags[rf_packed_kind(what)];
}

void rf_segment_tidy(struct rf_entry *slots, uint32_t used) {
    for (uint32_t at = 0; at < used;) {
        struct rf_entry *entry = &slots[at];
        uint32_t take = rf_entry_slots(entry, used - at);
        if (!take)
            return;
        enum rf_kind kind = rf_packed_kind(entry->what);
        if (rf_kind_columns[kind][0] == RF_COL_NONE)
            entry->first = 0;
        if (rf_kind_columns[kind][1] == RF_COL_NONE)
            entry->second = 0;
        if (rf_kind_columns[kind][0] == RF_COL_HASH)
            entry->first &= 0xffff;
        /* The source is stored after the tag: without it the tag means nothing. */
        if (kind == RF_POST && entry->first == RF_UNKNOWN)
            entry->second = RF_UNKNOWN;
        if (!(rf_kind_flags[kind] & (RF_REPEATS | RF_LIST | RF_BACK)) || !entry->run) {
            if (!(rf_kind_flags[kind] & RF_LIST))
                entry->run = 1;
        }
        if (rf_kind_flags[kind] & RF_LIST) {
            uint32_t length = entry->run & ~RF_LIST_MORE;
            int32_t *list = (int32_t *)(entry + 1);
            for (uint32_t i = length; i < (take - 1) * 4; i++)
                list[i] = 0;
        }
        at += take;
    }
}

uint64_t rf_segment_events(const struct rf_entry *slots, uint32_t used, bool *in_list) {
    uint64_t events = 0;
    for (uint32_t at = 0; at < used;) {
        uint32_t take = rf_entry_slots(&slots[at], used - at);
        if (!take)
            break;
        unsigned flags = flags_of(slots[at].what);
        if (!*in_list)
            events += flags & RF_REPEATS ? slots[at].run : 1;
        *in_list = flags & RF_LIST && slots[at].run & RF_LIST_MORE;
        at += take;
    }
    return events;
}

static void reset(struct rf_codec *codec) {
    codec->epoch++;
    for (unsigned i = 0; i <= MAX_CONFIDENCE; i++)
        codec->event_flags[i] = codec->run_flags[i] =
            (struct rf_node_bit){RF_BIT_START, RF_BIT_START};
    for (unsigned i = 0; i < GUESSES; i++)
        codec->guesses[i] = (struct guess){NOWHERE, 0, 0};
    memset(codec->find, 0, sizeof codec->find);
    codec->context = codec->none_context = 0;
    codec->word_count = codec->shape_count = 0;
    codec->previous_shape = codec->older_shape = codec->cycle_place = 0;
    codec->previous_call = 0;
}

/* A number of a column: `general` and `special` are contexts of any size. */
RF_INLINE uint64_t column(struct rf_codec *codec, enum column name, uint32_t general,
                          uint32_t special, uint64_t value, bool encoding) {
    uint32_t g = name * GENERAL_MODELS + general % GENERAL_MODELS;
    uint32_t s = name * SPECIAL_MODELS + (special * 0x9e3779b1u >> 24);
    struct rf_model common = {&codec->general[g], &codec->general_rest[g],
                              COLUMNS * GENERAL_MODELS};
    struct rf_model own = {&codec->special[s], &codec->special_rest[s], COLUMNS * SPECIAL_MODELS};
    return rf_code_number(&codec->coder, common, own, codec->epoch, value, encoding);
}

/* The number of a word, DICTIONARY if there are too many. */
RF_INLINE uint32_t find_word(struct rf_codec *codec, uint32_t what) {
    uint32_t hash = mix(what, 1) % DICTIONARY_HASH;
    while (codec->find[hash]) {
        if (codec->words[codec->find[hash] - 1] == what)
            return codec->find[hash] - 1u;
        hash = (hash + 1) % DICTIONARY_HASH;
    }
    if (codec->word_count < DICTIONARY)
        codec->find[hash] = (uint16_t)(codec->word_count + 1);
    return codec->word_count;
}

static void start_memory(struct rf_codec *codec, uint32_t id) {
    codec->memories[id] = (struct memory){.list = NOWHERE};
}

/* A shape that was not there before: the word, if need be kind, channel and site, and the flags. */
static bool code_new_shape(struct rf_codec *codec, uint32_t what, uint32_t id, uint32_t flags,
                           bool encoding) {
    id = (uint32_t)column(codec, WORD, 0, 0, id, encoding);
    if (id > codec->word_count || id >= DICTIONARY)
        return false;
    if (id == codec->word_count) {
        uint32_t parts[3] = {rf_packed_kind(what), rf_packed_channel(what), rf_packed_site(what)};
        for (uint32_t i = 0; i < 3; i++)
            parts[i] = (uint32_t)column(codec, WORD, 1 + i, 1 + i, parts[i], encoding);
        if (parts[0] == RF_NO_EVENT || parts[0] >= RF_KINDS || parts[1] >= RF_MAX_CHANNELS ||
            parts[2] >= 1u << RF_SITE_BITS)
            return false;
        codec->words[id] = rf_pack((enum rf_kind)parts[0], parts[1], parts[2]);
        codec->word_count++;
        start_memory(codec, id);
    }
    flags = (uint32_t)column(codec, WORD, 4, 4, flags, encoding);
    if (flags >= SHAPE_FLAGS || codec->memories[id].shapes[flags])
        return false;
    codec->shapes[codec->shape_count] = (uint16_t)(id * SHAPE_FLAGS + flags);
    codec->memories[id].shapes[flags] = (uint16_t)++codec->shape_count;
    return true;
}

/* Counts of calls only grow, and often by as much as before. */
RF_INLINE int32_t second_of(const struct rf_codec *codec, const struct rf_entry *entry) {
    if (rf_kind_columns[rf_packed_kind(entry->what)][1] == RF_COL_CALL)
        return (int32_t)((uint32_t)entry->second - codec->previous_call);
    return entry->second;
}

/* The word and the flags of an entry, as a number in the order in which such pairs came up. */
RF_INLINE bool code_shape(struct rf_codec *codec, struct rf_entry *entry, uint32_t *shape,
                          bool encoding) {
    uint32_t id = 0, flags = 0;
    *shape = codec->shape_count;
    if (encoding) {
        id = find_word(codec, entry->what);
        if (id == codec->word_count)
            start_memory(codec, id);
        const struct memory *memory = &codec->memories[id];
        if (rf_packed_kind(entry->what) != RF_LATE)
            flags = (entry->first == memory->first ? FIRST_SAME : 0) |
                    (second_of(codec, entry) == memory->second ? SECOND_SAME : 0) |
                    (entry->run == 1 ? RUN_ONE : 0);
        if (memory->shapes[flags])
            *shape = memory->shapes[flags] - 1u;
    }
    uint32_t special = mix(codec->previous_shape + 1, codec->older_shape * 64 + codec->cycle_place);
    *shape = (uint32_t)column(codec, SHAPE, codec->previous_shape, special, *shape, encoding);
    if (__builtin_expect(*shape >= codec->shape_count, 0))
        if (*shape > codec->shape_count ||
            !code_new_shape(codec, encoding ? entry->what : 0, id, flags, encoding))
            return false;
    if (!encoding)
        entry->what = codec->words[codec->shapes[*shape] / SHAPE_FLAGS];
    return true;
}

RF_INLINE uint32_t fold_seen(const struct memory *memory) {
    return (uint32_t)(memory->seen ^ memory->seen >> 32);
}

/* Follows cycles in which every value comes once, in any order. A repetition ends one cycle and
   begins the next. */
RF_INLINE void note_seen(struct memory *memory, int32_t first, bool repeated) {
    uint64_t mark = 1ull << ((uint32_t)first & 63);
    bool again = memory->seen & mark;
    if (!again && !repeated) {
        memory->seen |= mark;
        memory->count++;
        return;
    }
    uint32_t length = memory->count + !again;
    memory->steady = length == memory->cycle ? memory->steady + 1 : 0;
    memory->cycle = length;
    memory->seen = mark;
    memory->count = 1;
}

/* The two special values come first, then the others, negative ones last. */
RF_INLINE int32_t code_integer(struct rf_codec *codec, enum column name, uint32_t id,
                               uint32_t special, int32_t value, bool encoding) {
    uint64_t number = (uint64_t)(uint32_t)value + 2;
    if (value == RF_UNKNOWN || value == RF_UNDEFINED)
        number = (uint32_t)value - (uint32_t)RF_UNKNOWN;
    number = column(codec, name, id, special, number, encoding);
    return (int32_t)((uint32_t)number + (number < 2 ? (uint32_t)RF_UNKNOWN : -2u));
}

/* The first column, which is not as in the word's last entry. Of several requests or sources, one
   that came will not come again before the others did. Stamps are differences of either sign. */
RF_INLINE int32_t code_first(struct rf_codec *codec, const struct rf_entry *entry, uint32_t id,
                             enum rf_column kind, bool encoding) {
    const struct memory *memory = &codec->memories[id];
    if (kind == RF_COL_HASH)
        return (int32_t)rf_code_raw(&codec->coder, 16, (uint32_t)entry->first, encoding);
    uint32_t special = memory->steady >= STEADY ? fold_seen(memory) : (uint32_t)memory->first;
    int32_t value = kind == RF_COL_STAMP ? (int32_t)rf_zigzag(entry->first) : entry->first;
    value = code_integer(codec, FIRST, id, mix(id + 1, special), value, encoding);
    return kind == RF_COL_STAMP ? rf_unzigzag((uint32_t)value) : value;
}

/* The values that are not as in the word's last entry. A tag often follows from its source. */
RF_INLINE void code_values(struct rf_codec *codec, struct rf_entry *entry, uint32_t id,
                           uint32_t flags, bool encoding) {
    const struct memory *memory = &codec->memories[id];
    enum rf_kind kind = rf_packed_kind(entry->what);
    int32_t first = memory->first, second = memory->second;
    if (!(flags & FIRST_SAME))
        first = code_first(codec, entry, id, rf_kind_columns[kind][0], encoding);
    if (!(flags & SECOND_SAME)) {
        bool alone = rf_kind_columns[kind][0] == RF_COL_STAMP;
        uint32_t special = mix(mix(id + 1, (uint32_t)second), alone ? 0 : (uint32_t)first);
        int32_t value = encoding ? second_of(codec, entry) : 0;
        second = code_integer(codec, SECOND, id, special, value, encoding);
    }
    if (encoding)
        return;
    entry->first = first;
    entry->second = second;
    if (rf_kind_columns[kind][1] == RF_COL_CALL)
        entry->second = (int32_t)((uint32_t)second + codec->previous_call);
}

/* A list: its length, whether it goes on in another piece, the first item, then the steps. */
RF_INLINE bool code_list(struct rf_codec *codec, struct rf_entry *entry, uint32_t id, uint32_t room,
                         const struct rf_entry *slots, bool one, bool encoding) {
    const struct memory *memory = &codec->memories[id];
    const struct rf_entry *before = memory->list == NOWHERE ? NULL : &slots[memory->list];
    uint32_t before_length = before ? before->run & ~RF_LIST_MORE : 0;
    const int32_t *before_list = before ? (const int32_t *)(before + 1) : NULL;
    uint32_t length = one ? 1 : entry->run & ~RF_LIST_MORE;
    bool more = !one && entry->run & RF_LIST_MORE;
    if (!one) {
        length =
            (uint32_t)column(codec, ITEMS, id, mix(id + 1, before_length + 999), length, encoding);
        more = column(codec, ITEMS, 63, 63, more, encoding);
    }
    if (!encoding) {
        if (((uint64_t)length + 3) / 4 + 1 > room)
            return false;
        entry->run = length | (more ? RF_LIST_MORE : 0);
    }
    int32_t *list = (int32_t *)(entry + 1);
    int32_t last = 0;
    for (uint32_t i = 0; i < length; i++) {
        uint32_t place = i < 3 ? i : 3;
        int32_t likely = i < before_length ? before_list[i] : -1;
        uint32_t special = mix(mix(id + 1, place), mix((uint32_t)likely, (uint32_t)last));
        uint32_t step = rf_zigzag((int32_t)((uint32_t)list[i] - (uint32_t)last));
        step = (uint32_t)column(codec, ITEMS, id * 5 + 1 + place, special, step, encoding);
        if (!encoding)
            list[i] = (int32_t)((uint32_t)last + (uint32_t)rf_unzigzag(step));
        last = list[i];
    }
    if (!encoding)
        for (uint32_t i = length; i & 3; i++)
            list[i] = 0;
    return true;
}

/* The values of late matches lie in the prefix; only their place in the order is coded. */
RF_INLINE bool code_late(struct rf_codec *codec, struct rf_entry *entry, uint64_t *late_posts,
                         uint64_t posts, bool encoding) {
    if (encoding) {
        if (codec->prefix_at > codec->lates + PREFIX_ROOM - 4 * RF_VARINT_BYTES)
            return false;
        uint8_t *at = codec->prefix_at;
        at = rf_varint_put(at, posts - *late_posts);
        at = rf_varint_put(at, entry->run);
        at = rf_varint_put(at, rf_zigzag(entry->first));
        codec->prefix_at = rf_varint_put(at, rf_zigzag(entry->second));
        *late_posts = posts;
        return true;
    }
    uint64_t values[4];
    for (int i = 0; i < 4; i++)
        if (!rf_varint_get(&codec->late_at, codec->late_end, &values[i]) || values[i] > UINT32_MAX)
            return false;
    entry->run = (uint32_t)values[1];
    entry->first = rf_unzigzag((uint32_t)values[2]);
    entry->second = rf_unzigzag((uint32_t)values[3]);
    return true;
}

/* Equal but for the repetitions. */
RF_INLINE bool same(const struct rf_entry *a, const struct rf_entry *b, uint32_t room) {
    if (a->what != b->what || a->first != b->first || a->second != b->second)
        return false;
    if (!(flags_of(a->what) & RF_LIST))
        return true;
    uint32_t take = rf_entry_slots(b, room);
    return a->run == b->run && take && !memcmp(a + 1, b + 1, (take - 1) * sizeof *b);
}

#define ROLL (4u * 0x2c1b3c6du)

/* Where a delivery is in the order of all nodes' tells nothing of what comes after it. */
RF_INLINE uint32_t entry_hash(const struct rf_entry *entry) {
    if (rf_packed_kind(entry->what) == RF_STAMP)
        return mix(entry->what, 0);
    uint32_t hash = mix(mix(entry->what, (uint32_t)entry->first), (uint32_t)entry->second);
    if (flags_of(entry->what) & RF_LIST) {
        uint32_t length = entry->run & ~RF_LIST_MORE;
        const int32_t *list = (const int32_t *)(entry + 1);
        hash = mix(hash, length);
        for (uint32_t i = 0; i < length; i++)
            hash = mix(hash, (uint32_t)list[i]);
    }
    return hash;
}

/* Every event moves the ones before it two bits up, so that the latest sixteen make the context.
   How often a test failed is noise: RF_NONE only stands beside the context. */
RF_INLINE void advance(struct rf_codec *codec, const struct rf_entry *entry, enum rf_kind kind) {
    if (kind == RF_NONE) {
        codec->none_context = mix(entry->what, (uint32_t)entry->first) | 1;
    } else {
        codec->none_context = 0;
        codec->context = codec->context * ROLL + entry_hash(entry);
    }
}

/* The guess for the next event; the place may have belonged to another context. */
RF_INLINE struct guess *find_guess(struct rf_codec *codec) {
    uint32_t key = mix(codec->context, codec->none_context) * 0x9e3779b1u;
    struct guess *guess = &codec->guesses[key >> 20];
    if (guess->check != (key >> 12 & 255))
        *guess = (struct guess){NOWHERE, 0, (uint8_t)(key >> 12)};
    return guess;
}

/* How often: as in the guess, or a number. */
RF_INLINE bool code_run(struct rf_codec *codec, struct rf_entry *entry, uint32_t id,
                        const struct guess *right, const struct rf_entry *likely, bool encoding) {
    const struct memory *memory = &codec->memories[id];
    if (right && rf_code_bit(&codec->coder, &codec->run_flags[right->confidence],
                             entry->run == likely->run, encoding)) {
        entry->run = likely->run;
        return true;
    }
    uint32_t special = mix(id + 1, memory->run_class + 31);
    if (memory->steady >= STEADY)
        special = mix(special, fold_seen(memory));
    uint64_t run = column(codec, RUN, id, special, entry->run - 1u, encoding);
    entry->run = (uint32_t)run + 1;
    return run < UINT32_MAX;
}

RF_INLINE bool code_entries(struct rf_codec *codec, struct rf_entry *slots, uint32_t used,
                            uint64_t *posts, uint64_t *unmatched, uint64_t *lates, bool encoding) {
    uint64_t late_posts = 0;
    for (uint32_t at = 0, take; at < used; at += take) {
        struct rf_entry *entry = &slots[at];
        uint32_t room = used - at, shape = 0, flags = 0;
        struct guess *guess = find_guess(codec);
        bool known = guess->position != NOWHERE;
        const struct rf_entry *likely = &slots[known ? guess->position : 0];
        bool right = known && guess->confidence && rf_entry_slots(likely, room);
        if (right)
            right = rf_code_bit(&codec->coder, &codec->event_flags[guess->confidence],
                                encoding && same(entry, likely, room), encoding);
        if (right) {
            shape = codec->shape_at[guess->position];
            if (!encoding)
                memcpy(entry, likely, rf_entry_slots(likely, room) * sizeof *entry);
        } else {
            if (!code_shape(codec, entry, &shape, encoding))
                return false;
            flags = codec->shapes[shape] % SHAPE_FLAGS;
        }
        uint32_t id = codec->shapes[shape] / SHAPE_FLAGS;
        struct memory *memory = &codec->memories[id];
        enum rf_kind kind = rf_packed_kind(entry->what);
        unsigned kind_flags = rf_kind_flags[kind];
        codec->shape_at[at] = (uint16_t)shape;
        take = 1;
        if (kind == RF_LATE) {
            if (!code_late(codec, entry, &late_posts, *posts, encoding))
                return false;
            ++*lates;
            continue;
        }
        if (!right) {
            code_values(codec, entry, id, flags, encoding);
            if (!encoding)
                entry->run = 1;
        }
        bool repeated = false;
        if (kind_flags & RF_LIST) {
            if (!right && !code_list(codec, entry, id, room, slots, flags & RUN_ONE, encoding))
                return false;
            take = rf_entry_slots(entry, room);
            memory->list = at;
        } else if (kind_flags & RF_REPEATS) {
            if (!(flags & RUN_ONE) &&
                !code_run(codec, entry, id, right ? guess : NULL, likely, encoding))
                return false;
            repeated = entry->run > 1;
            memory->run_class = repeated ? rf_log2(entry->run) : 0;
        } else if (kind_flags & RF_OPEN) {
            ++*posts;
            *unmatched += entry->first == RF_UNKNOWN;
        }
        if (repeated || entry->first != memory->first)
            note_seen(memory, entry->first, repeated);
        memory->first = entry->first;
        memory->second = second_of(codec, entry);
        if (rf_kind_columns[kind][1] == RF_COL_CALL)
            codec->previous_call = (uint32_t)entry->second;
        /* A check tells nothing of what comes after it. */
        if (kind == RF_CHECK)
            continue;
        if (!right)
            right = known && same(entry, likely, room);
        guess->confidence =
            right ? (uint8_t)(guess->confidence + (guess->confidence < MAX_CONFIDENCE)) : 0;
        guess->position = (uint16_t)at;
        codec->cycle_place = memory->steady >= STEADY ? memory->count : 0;
        codec->older_shape = codec->previous_shape;
        codec->previous_shape = shape;
        advance(codec, entry, kind);
    }
    return true;
}

bool rf_codec_encode(struct rf_codec *codec, const struct rf_entry *slots, uint32_t used,
                     struct rf_coded *coded) {
    reset(codec);
    codec->prefix_at = codec->lates;
    rf_coder_write(&codec->coder, codec->output, OUTPUT_ROOM);
    uint64_t posts = 0, unmatched = 0, lates = 0;
    /* The shared code needs the slots writable for the decoder; the encoder leaves them as is. */
    struct rf_entry *input = (struct rf_entry *)(uintptr_t)slots;
    if (!code_entries(codec, input, used, &posts, &unmatched, &lates, true))
        return false;
    uint8_t *at = codec->prefix;
    at = rf_varint_put(at, posts);
    at = rf_varint_put(at, unmatched);
    at = rf_varint_put(at, lates);
    size_t late_bytes = (size_t)(codec->prefix_at - codec->lates);
    if (late_bytes > PREFIX_ROOM - 3 * RF_VARINT_BYTES)
        return false;
    memcpy(at, codec->lates, late_bytes);
    at += late_bytes;
    rf_coder_finish(&codec->coder);
    if (codec->coder.overflow)
        return false;
    size_t bytes = (size_t)(codec->coder.at - codec->output);
    coded->pieces[0] = (struct rf_piece){codec->prefix, (size_t)(at - codec->prefix)};
    coded->pieces[1] = (struct rf_piece){codec->output, bytes};
    coded->bytes = bytes + coded->pieces[0].bytes;
    return coded->bytes < used * sizeof *slots;
}

bool rf_prefix_open(struct rf_prefix *prefix, const uint8_t *payload, size_t bytes) {
    prefix->at = payload;
    prefix->end = payload + bytes;
    return rf_varint_get(&prefix->at, prefix->end, &prefix->posts) &&
           rf_varint_get(&prefix->at, prefix->end, &prefix->unmatched) &&
           rf_varint_get(&prefix->at, prefix->end, &prefix->lates) &&
           prefix->posts <= RF_SEGMENT_SLOTS && prefix->unmatched <= prefix->posts &&
           prefix->lates <= RF_SEGMENT_SLOTS;
}

bool rf_prefix_late(struct rf_prefix *prefix, struct rf_late *late) {
    uint64_t values[4];
    for (int i = 0; i < 4; i++)
        if (!rf_varint_get(&prefix->at, prefix->end, &values[i]) || values[i] > UINT32_MAX)
            return false;
    late->post += values[0];
    late->back = (uint32_t)values[1];
    late->source = rf_unzigzag((uint32_t)values[2]);
    late->tag = rf_unzigzag((uint32_t)values[3]);
    return true;
}

bool rf_codec_decode(struct rf_codec *codec, const uint8_t *payload, size_t bytes,
                     struct rf_entry *slots, uint32_t used) {
    struct rf_prefix prefix;
    if (used > RF_SEGMENT_SLOTS || !rf_prefix_open(&prefix, payload, bytes))
        return false;
    reset(codec);
    codec->late_at = prefix.at;
    struct rf_late late = {0};
    for (uint64_t i = 0; i < prefix.lates; i++)
        if (!rf_prefix_late(&prefix, &late))
            return false;
    codec->late_end = prefix.at;
    rf_coder_read(&codec->coder, prefix.at, (size_t)(prefix.end - prefix.at));
    uint64_t posts = 0, unmatched = 0, lates = 0;
    return code_entries(codec, slots, used, &posts, &unmatched, &lates, false) &&
           posts == prefix.posts && unmatched == prefix.unmatched && lates == prefix.lates &&
           codec->late_at == codec->late_end;
}
