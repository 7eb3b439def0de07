/* The queue alone: what its senders and its receiver leave each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "queue.h"

enum { SHIFT = 3, LENGTH = 1 << SHIFT };

static struct mc_queue queue;
static struct mc_slot slots[LENGTH];

static int empty(void **unused) {
    (void)unused;
    memset(&queue, 0, sizeof queue);
    memset(slots, 0, sizeof slots);
    return 0;
}

static struct mc_slot *put(uint32_t value) {
    struct mc_slot *slot = mc_queue_claim(&queue, slots, SHIFT, 1);
    if (slot) {
        memcpy(slot->data, &value, sizeof value);
        mc_queue_publish(slot, MC_FULL);
    }
    return slot;
}

static uint32_t get(void) {
    uint32_t value;
    assert_true(mc_queue_ready(&queue, slots, SHIFT));
    struct mc_slot *slot = mc_queue_next(&queue, slots, SHIFT);
    memcpy(&value, slot->data, sizeof value);
    mc_queue_release(&queue, slot, SHIFT);
    return value;
}

static void is_first_in_first_out_over_many_laps(void **unused) {
    (void)unused;
    uint32_t in = 0, out = 0;
    for (int lap = 0; lap < 50; lap++) {
        while (put(in))
            in++;
        assert_int_equal(in - out, LENGTH);
        assert_int_equal(mc_queue_count(&queue, slots, SHIFT), LENGTH);
        for (int i = 0; i < 1 + lap % LENGTH; i++)
            assert_int_equal(get(), out++);
    }
    while (out < in)
        assert_int_equal(get(), out++);
    assert_false(mc_queue_ready(&queue, slots, SHIFT));
}

/* The hint may be as wrong as it likes, as long as it is behind. */
static void forgives_an_old_hint(void **unused) {
    (void)unused;
    for (uint32_t i = 0; i < 100; i++) {
        queue.tail = i % 3 ? 0 : queue.tail > 20 ? queue.tail - 20 : 0;
        assert_non_null(put(i));
        queue.tail = 0;
        assert_non_null(put(1000 + i));
        assert_int_equal(get(), i);
        assert_int_equal(get(), 1000 + i);
    }
}

static void a_claimed_slot_hides_what_is_behind(void **unused) {
    (void)unused;
    put(1);
    struct mc_slot *slow = mc_queue_claim(&queue, slots, SHIFT, 7);
    put(3);
    assert_int_equal(mc_queue_count(&queue, slots, SHIFT), 1);
    assert_int_equal(get(), 1);
    assert_false(mc_queue_ready(&queue, slots, SHIFT));
    mc_queue_publish(slow, MC_FULL);
    assert_int_equal(mc_queue_count(&queue, slots, SHIFT), 2);
}

static void the_dead_hold_nobody_up(void **unused) {
    (void)unused;
    mc_queue_claim(&queue, slots, SHIFT, 7);
    struct mc_slot *alive = mc_queue_claim(&queue, slots, SHIFT, 8);
    put(3);
    mc_queue_bury(slots, SHIFT, 7);
    assert_int_equal(mc_phase_of(alive->state), MC_CLAIMED);
    mc_queue_publish(alive, MC_FULL);
    assert_int_equal(mc_phase_of(mc_queue_next(&queue, slots, SHIFT)->state), MC_VOID);
    assert_int_equal(mc_queue_count(&queue, slots, SHIFT), 2);
    get(); /* void */
    get();
    assert_int_equal(get(), 3);
}

static void a_receiver_may_die_between_two_stores(void **unused) {
    (void)unused;
    put(1);
    put(2);
    uint64_t head = queue.head;
    get();
    queue.head = head;
    mc_queue_repair(&queue, slots, SHIFT);
    assert_int_equal(get(), 2);
    mc_queue_repair(&queue, slots, SHIFT); /* nothing to do */
    put(3);
    assert_int_equal(get(), 3);
}

/* ---- many senders ------------------------------------------------------------------------------
 */

enum { SENDERS = 3, EACH = 20000 };

static void *send_many(void *argument) {
    uint32_t me = (uint32_t)(uintptr_t)argument;
    for (uint32_t i = 0; i < EACH;) {
        if (put(me << 24 | i))
            i++;
        else
            sched_yield();
    }
    return NULL;
}

static void keeps_the_order_of_each_sender(void **unused) {
    pthread_t threads[SENDERS];
    uint32_t next[SENDERS] = {0};
    (void)unused;
    for (uintptr_t i = 0; i < SENDERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, send_many, (void *)i), 0);
    for (uint32_t i = 0; i < SENDERS * EACH;) {
        if (!mc_queue_ready(&queue, slots, SHIFT)) {
            sched_yield();
            continue;
        }
        uint32_t value = get();
        assert_int_equal(value & 0xffffff, next[value >> 24]++);
        i++;
    }
    for (int i = 0; i < SENDERS; i++)
        pthread_join(threads[i], NULL);
    assert_false(mc_queue_ready(&queue, slots, SHIFT));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(is_first_in_first_out_over_many_laps, empty),
        cmocka_unit_test_setup(forgives_an_old_hint, empty),
        cmocka_unit_test_setup(a_claimed_slot_hides_what_is_behind, empty),
        cmocka_unit_test_setup(the_dead_hold_nobody_up, empty),
        cmocka_unit_test_setup(a_receiver_may_die_between_two_stores, empty),
        cmocka_unit_test_setup(keeps_the_order_of_each_sender, empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
