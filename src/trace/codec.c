/* The models of the columns. docs/format.md describes them step by step; every choice here is part
   of the format. */
#include "codec.h"

#include "coder.h"
#include "log.h"
#include "varint.h"

#define GENERAL_MODELS 64u
#define SPECIAL_MODELS 256u
#define DICTIONARY 4096u
#define DICTIONARY_HASH 8192u
#define ORDERS 3u
#define GUESSES 4096u
#define NOWHERE 0xffffu
#define MAX_CONFIDENCE 15u
#define HISTORY 16u
#define STEADY 3u
#define STREAM_ROOM (640u << 10)
#define PREFIX_ROOM (768u << 10)

/* 2^14 / (n + 1.5), down to 1/16 for the fast and 1/64 for the slow estimate. */
const uint16_t rf_rate_fast[16] = {10923, 6554, 4681, 3641, 2979, 2521, 2185, 1928,
                                   1725,  1560, 1425, 1311, 1214, 1130, 1057, 1024};
const uint16_t rf_rate_slow[16] = {10923, 6554, 4681, 3641, 2979, 2521, 2185, 1928,
                                   1725,  1560, 1425, 1311, 1214, 1130, 1057, 256};
/* Sixteenths of trust in a special context that has seen n bits. */
const uint16_t rf_trust[16] = {0, 4, 7, 9, 10, 11, 12, 12, 13, 13, 14, 14, 14, 15, 15, 15};

/* How many events back each order of guessing looks. */
static const unsigned order_length[ORDERS] = {16, 6, 2};
/* How often in a row a guess must have been right before it is offered. */
static const unsigned order_trusted[ORDERS] = {1, 3, 8};

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
    uint32_t cycle, steady; /* how many there were then, and how often in a row that many */
    uint32_t run_class;
    uint32_t list; /* position of the last list's header, NOWHERE: none */
};

struct column_models {
    struct rf_number general[GENERAL_MODELS];
    struct rf_number special[SPECIAL_MODELS];
};

struct rf_codec {
    uint32_t epoch;
    struct rf_stream streams[RF_STREAMS];
    struct rf_node_bit event_flags[ORDERS][MAX_CONFIDENCE + 1];
    struct rf_node_bit run_flags[ORDERS][MAX_CONFIDENCE + 1];
    struct rf_node_bit more_flag;
    struct rf_node_bit equal_flags[2][GENERAL_MODELS];
    struct guess guesses[ORDERS][GUESSES];
    uint32_t words[DICTIONARY];
    uint32_t word_count;
    uint16_t find[DICTIONARY_HASH]; /* encoder: 1 + place in `words` */
    struct memory memories[DICTIONARY];
    uint16_t ids[RF_SEGMENT_SLOTS]; /* of the entry at each position */
    uint32_t recent[HISTORY];       /* hashes of the latest events but RF_NONE */
    uint32_t recent_at;
    uint32_t context[ORDERS];
    uint32_t none_context;
    uint32_t previous_id, older_id;
    int32_t previous_call;
    const uint8_t *late_at, *late_end;
    struct column_models models[RF_STREAMS];
    uint8_t *prefix_at;
    uint8_t prefix[PREFIX_ROOM];
    uint8_t lates[PREFIX_ROOM];
    uint8_t output[RF_STREAMS][STREAM_ROOM];
};

size_t rf_codec_bytes(void) {
    return sizeof(struct rf_codec);
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
    for (unsigned order = 0; order < ORDERS; order++) {
        for (unsigned i = 0; i <= MAX_CONFIDENCE; i++) {
            codec->event_flags[order][i] = (struct rf_node_bit){RF_BIT_START, RF_BIT_START};
            codec->run_flags[order][i] = (struct rf_node_bit){RF_BIT_START, RF_BIT_START};
        }
        for (unsigned i = 0; i < GUESSES; i++)
            codec->guesses[order][i] = (struct guess){NOWHERE, 0, 0};
        codec->context[order] = 0;
    }
    codec->more_flag = (struct rf_node_bit){RF_BIT_START, RF_BIT_START};
    for (unsigned i = 0; i < GENERAL_MODELS; i++)
        codec->equal_flags[0][i] = codec->equal_flags[1][i] = codec->more_flag;
    memset(codec->find, 0, sizeof codec->find);
    memset(codec->recent, 0, sizeof codec->recent);
    codec->word_count = 0;
    codec->recent_at = 0;
    codec->none_context = 0;
    codec->previous_id = codec->older_id = 0;
    codec->previous_call = 0;
}

/* A number in its column's models: `general` and `special` are contexts of any size. */
RF_INLINE uint64_t column(struct rf_codec *codec, enum rf_stream_name name, uint32_t general,
                          uint32_t special, uint64_t value, bool encoding) {
    struct column_models *models = &codec->models[name];
    struct rf_number *common = &models->general[general % GENERAL_MODELS];
    struct rf_number *own = &models->special[special >> 24];
    rf_number_fresh(common, codec->epoch);
    rf_number_fresh(own, codec->epoch);
    return rf_code_number(&codec->streams[name], common, own, value, encoding);
}

/* The two special values come first, then the numbers around zero. */
RF_INLINE uint64_t from_integer(int32_t value) {
    return value == RF_UNKNOWN ? 0 : value == RF_UNDEFINED ? 1 : (uint64_t)rf_zigzag(value) + 2;
}
RF_INLINE int32_t to_integer(uint64_t value) {
    return value == 0 ? RF_UNKNOWN : value == 1 ? RF_UNDEFINED : rf_unzigzag((uint32_t)(value - 2));
}

/* The place of a packed word in the dictionary; new words are spelt out. */
RF_INLINE uint32_t code_what(struct rf_codec *codec, uint32_t *what, bool encoding) {
    uint32_t id = codec->word_count, hash = 0;
    if (encoding) {
        hash = mix(*what, 1) % DICTIONARY_HASH;
        while (codec->find[hash] && codec->words[codec->find[hash] - 1] != *what)
            hash = (hash + 1) % DICTIONARY_HASH;
        if (codec->find[hash])
            id = codec->find[hash] - 1u;
    }
    uint32_t special = mix(codec->previous_id + 1, codec->older_id + 1) * 0x9e3779b1u;
    id = (uint32_t)column(codec, RF_WHAT, codec->previous_id, special, id, encoding);
    if (id < codec->word_count) {
        *what = codec->words[id];
        return id;
    }
    /* Kind, channel and site each have a context of their own. */
    uint32_t parts[3] = {0};
    if (encoding) {
        parts[0] = rf_packed_kind(*what);
        parts[1] = rf_packed_channel(*what);
        parts[2] = rf_packed_site(*what);
    }
    for (uint32_t i = 0; i < 3; i++)
        parts[i] =
            (uint32_t)column(codec, RF_WHAT, GENERAL_MODELS - 1 - i, i << 24, parts[i], encoding);
    if (!encoding) {
        if (id > codec->word_count || parts[0] == RF_NO_EVENT || parts[0] >= RF_KINDS ||
            parts[1] >= RF_MAX_CHANNELS || parts[2] >= 1u << RF_SITE_BITS) {
            *what = 0;
            return 0;
        }
        *what = rf_pack((enum rf_kind)parts[0], parts[1], parts[2]);
    }
    if (codec->word_count == DICTIONARY)
        return DICTIONARY - 1;
    id = codec->word_count++;
    codec->words[id] = *what;
    codec->memories[id] = (struct memory){.list = NOWHERE};
    if (encoding)
        codec->find[hash] = (uint16_t)(id + 1);
    return id;
}

RF_INLINE uint32_t fold_seen(const struct memory *memory) {
    return (uint32_t)(memory->seen ^ memory->seen >> 32);
}

/* Follows cycles in which every value comes once, in any order. A repetition ends one cycle and
   begins the next. */
RF_INLINE void note_seen(struct memory *memory, const struct rf_entry *entry) {
    uint64_t mark = 1ull << ((uint32_t)entry->first & 63);
    bool repeated = flags_of(entry->what) & RF_REPEATS && entry->run > 1;
    uint64_t all = memory->seen | mark;
    if (!(memory->seen & mark) && !repeated) {
        memory->seen = all;
        return;
    }
    uint32_t length = (uint32_t)__builtin_popcountll(repeated ? all : memory->seen);
    memory->steady = length == memory->cycle ? memory->steady + 1 : 0;
    memory->cycle = length;
    memory->seen = mark;
}

RF_INLINE void code_fixed(struct rf_codec *codec, struct rf_entry *entry, uint32_t id,
                          bool encoding) {
    struct memory *memory = &codec->memories[id];
    const enum rf_column *columns = rf_kind_columns[rf_packed_kind(entry->what)];
    for (unsigned i = 0; i < 2; i++) {
        int32_t *field = i ? &entry->second : &entry->first;
        enum rf_stream_name name = i ? RF_SECOND : RF_FIRST;
        int32_t before = i ? memory->second : memory->first;
        if (columns[i] == RF_COL_NONE) {
            if (!encoding)
                *field = 0;
        } else if (columns[i] == RF_COL_CALL) {
            /* Counts only grow: the step is small. */
            uint32_t step = (uint32_t)*field - (uint32_t)codec->previous_call;
            step = (uint32_t)column(codec, name, id, mix(id, 77) * 0x9e3779b1u, step, encoding);
            *field = (int32_t)((uint32_t)codec->previous_call + step);
            codec->previous_call = *field;
        } else {
            bool equal =
                rf_code_bit(&codec->streams[name], &codec->equal_flags[i][id % GENERAL_MODELS],
                            *field == before, encoding);
            if (equal) {
                *field = before;
                continue;
            }
            /* A tag often follows from its source; of several requests or sources, one that came
               will not come again before the others did. */
            uint32_t special = mix(id + 1, (uint32_t)before);
            if (i)
                special = mix(special, (uint32_t)entry->first);
            else if (memory->steady >= STEADY)
                special = mix(id + 1, fold_seen(memory));
            uint64_t value = encoding ? from_integer(*field) : 0;
            value = column(codec, name, id, special * 0x9e3779b1u, value, encoding);
            *field = to_integer(value);
        }
    }
}

/* A list: its length, whether it goes on in another piece, the first item, then the steps. */
RF_INLINE bool code_list(struct rf_codec *codec, struct rf_entry *entry, uint32_t id, uint32_t room,
                         const struct rf_entry *slots, bool encoding) {
    const struct memory *memory = &codec->memories[id];
    const struct rf_entry *before = memory->list == NOWHERE ? NULL : &slots[memory->list];
    uint32_t before_length = before ? before->run & ~RF_LIST_MORE : 0;
    const int32_t *before_list = before ? (const int32_t *)(before + 1) : NULL;
    uint32_t length = entry->run & ~RF_LIST_MORE;
    bool more = entry->run & RF_LIST_MORE;
    length = (uint32_t)column(codec, RF_ITEMS, id, mix(id + 1, before_length + 999) * 0x9e3779b1u,
                              length, encoding);
    more = rf_code_bit(&codec->streams[RF_ITEMS], &codec->more_flag, more, encoding);
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
        step = (uint32_t)column(codec, RF_ITEMS, id * 5 + 1 + place, special * 0x9e3779b1u, step,
                                encoding);
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

static uint32_t entry_hash(const struct rf_entry *entry) {
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

/* Odd multiplier of the rolling hashes, and its powers at the ends of the windows. */
#define ROLL 0x2c1b3c6du
static uint32_t roll_power(unsigned exponent) {
    uint32_t power = 1;
    while (exponent--)
        power *= ROLL;
    return power;
}

/* How often a guess was made is known to both sides, so misses of failed tests, whose number is
   noise, do not disturb the contexts: RF_NONE only stands beside them. */
RF_INLINE void advance(struct rf_codec *codec, const struct rf_entry *entry,
                       const uint32_t powers[ORDERS]) {
    if (rf_packed_kind(entry->what) == RF_NONE) {
        codec->none_context = mix(entry->what, (uint32_t)entry->first) | 1;
        return;
    }
    codec->none_context = 0;
    uint32_t hash = entry_hash(entry);
    for (unsigned order = 0; order < ORDERS; order++) {
        uint32_t leaving =
            codec->recent[(codec->recent_at + HISTORY - order_length[order]) % HISTORY];
        codec->context[order] = codec->context[order] * ROLL + hash - leaving * powers[order];
    }
    codec->recent[codec->recent_at] = hash;
    codec->recent_at = (codec->recent_at + 1) % HISTORY;
}

RF_INLINE bool code_entries(struct rf_codec *codec, struct rf_entry *slots, uint32_t used,
                            uint64_t *posts, uint64_t *unmatched, uint64_t *lates, bool encoding) {
    uint64_t late_posts = 0;
    uint32_t powers[ORDERS];
    for (unsigned order = 0; order < ORDERS; order++)
        powers[order] = roll_power(order_length[order]);
    for (uint32_t at = 0; at < used;) {
        struct rf_entry *entry = &slots[at];
        uint32_t room = used - at;
        struct guess *guesses[ORDERS];
        unsigned order = ORDERS;
        for (unsigned i = ORDERS; i-- > 0;) {
            uint32_t key = mix(codec->context[i], codec->none_context) * 0x9e3779b1u;
            guesses[i] = &codec->guesses[i][key >> 20];
            if (guesses[i]->check != (key >> 12 & 255))
                *guesses[i] = (struct guess){NOWHERE, 0, (uint8_t)(key >> 12)};
            if (guesses[i]->position != NOWHERE && guesses[i]->confidence >= order_trusted[i] &&
                rf_packed_kind(slots[guesses[i]->position].what) != RF_LATE &&
                rf_entry_slots(&slots[guesses[i]->position], room))
                order = i;
        }
        bool hit = false;
        uint32_t id = 0, confidence = 0;
        const struct rf_entry *likely = NULL;
        if (order < ORDERS) {
            likely = &slots[guesses[order]->position];
            confidence = guesses[order]->confidence;
            if (encoding)
                hit = same(entry, likely, room);
            hit = rf_code_bit(&codec->streams[RF_FLOW], &codec->event_flags[order][confidence], hit,
                              encoding);
        }
        if (hit) {
            id = codec->ids[guesses[order]->position];
            if (!encoding)
                memcpy(entry, likely, rf_entry_slots(likely, room) * sizeof *entry);
        } else {
            id = code_what(codec, &entry->what, encoding);
            if (!entry->what)
                return false;
            if (rf_packed_kind(entry->what) == RF_LATE) {
                if (!code_late(codec, entry, &late_posts, *posts, encoding))
                    return false;
                ++*lates;
            } else {
                code_fixed(codec, entry, id, encoding);
                if (flags_of(entry->what) & RF_LIST) {
                    if (!code_list(codec, entry, id, room, slots, encoding))
                        return false;
                } else if (!encoding) {
                    entry->run = 1;
                }
            }
        }
        struct memory *memory = &codec->memories[id];
        if (flags_of(entry->what) & RF_REPEATS) {
            bool same_run = false;
            if (hit)
                same_run =
                    rf_code_bit(&codec->streams[RF_FLOW], &codec->run_flags[order][confidence],
                                entry->run == likely->run, encoding);
            if (same_run) {
                if (!encoding)
                    entry->run = likely->run;
            } else {
                uint32_t special = mix(id + 1, memory->run_class + 31);
                if (memory->steady >= STEADY)
                    special = mix(special, fold_seen(memory));
                special *= 0x9e3779b1u;
                uint64_t run = column(codec, RF_RUN, id, special, entry->run - 1u, encoding);
                if (run >= UINT32_MAX)
                    return false;
                entry->run = (uint32_t)run + 1;
            }
            memory->run_class = rf_number_class(entry->run - 1u);
        }
        uint32_t take = rf_entry_slots(entry, room);
        if (!take)
            return false;
        for (unsigned i = 0; i < ORDERS; i++) {
            struct guess *guess = guesses[i];
            bool right = guess->position != NOWHERE && same(entry, &slots[guess->position], room);
            guess->confidence =
                right ? (uint8_t)(guess->confidence + (guess->confidence < MAX_CONFIDENCE)) : 0;
            guess->position = (uint16_t)at;
        }
        if (flags_of(entry->what) & RF_OPEN) {
            ++*posts;
            *unmatched += entry->first == RF_UNKNOWN;
        }
        note_seen(memory, entry);
        memory->first = entry->first;
        memory->second = entry->second;
        if (flags_of(entry->what) & RF_LIST)
            memory->list = at;
        codec->ids[at] = (uint16_t)id;
        codec->older_id = codec->previous_id;
        codec->previous_id = id;
        advance(codec, entry, powers);
        at += take;
    }
    return true;
}

bool rf_codec_encode(struct rf_codec *codec, const struct rf_entry *slots, uint32_t used,
                     struct rf_coded *coded) {
    reset(codec);
    codec->prefix_at = codec->lates;
    for (unsigned i = 0; i < RF_STREAMS; i++)
        rf_stream_write(&codec->streams[i], codec->output[i], STREAM_ROOM);
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
    if (late_bytes > PREFIX_ROOM - (3 + RF_STREAMS) * RF_VARINT_BYTES)
        return false;
    memcpy(at, codec->lates, late_bytes);
    at += late_bytes;
    size_t total = 0;
    for (unsigned i = 0; i < RF_STREAMS; i++) {
        struct rf_stream *stream = &codec->streams[i];
        rf_stream_finish(stream);
        if (stream->overflow)
            return false;
        size_t bytes = (size_t)(stream->at - stream->begin);
        at = rf_varint_put(at, bytes);
        coded->pieces[1 + i] = (struct rf_piece){stream->begin, bytes};
        total += bytes;
    }
    coded->pieces[0] = (struct rf_piece){codec->prefix, (size_t)(at - codec->prefix)};
    coded->bytes = total + coded->pieces[0].bytes;
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
    uint64_t lengths[RF_STREAMS], total = 0;
    for (unsigned i = 0; i < RF_STREAMS; i++) {
        if (!rf_varint_get(&prefix.at, prefix.end, &lengths[i]) || lengths[i] > bytes)
            return false;
        total += lengths[i];
    }
    if (total != (uint64_t)(prefix.end - prefix.at))
        return false;
    for (unsigned i = 0; i < RF_STREAMS; i++) {
        rf_stream_read(&codec->streams[i], prefix.at, lengths[i]);
        prefix.at += lengths[i];
    }
    uint64_t posts = 0, unmatched = 0, lates = 0;
    return code_entries(codec, slots, used, &posts, &unmatched, &lates, false) &&
           posts == prefix.posts && unmatched == prefix.unmatched && lates == prefix.lates &&
           codec->late_at == codec->late_end;
}
