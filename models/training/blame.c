// SPDX-License-Identifier: GPL-3.0-or-later
#include "models/training/blame.h"
#include "sim/array.h"

const char *const blame_cause_words[] = { "forward",
                                          "backward",
                                          "recompute",
                                          "optimizer",
                                          "gradient coding",
                                          "slowed by TP",
                                          "slowed by DP",
                                          "slowed by PP",
                                          "launch",
                                          "bubble",
                                          "PP wait",
                                          "wait for peer",
                                          "exposed TP",
                                          "exposed DP",
                                          "exposed EP",
                                          "exposed CP",
                                          "data",
                                          "checkpoint",
                                          "fault",
                                          "other",
                                          NULL };

typedef struct idle_interval {
    sim_time start, end;
    sim_time known;   // from this instant on
    uint32_t culprit; // a lane; a part, numbered behind the lanes; NO_ID: nobody, or nobody's fault
    uint8_t cause;
} idle_interval;
ARRAY_OF(idle_interval, idle_array);

typedef struct lane_account {
    sim_time busy_until;
    sim_time spent[BLAME_CAUSES];
    unsigned __int128 bubble, peer; // that it caused, x multiplicity of those who waited
    idle_array idle;     // of this step, in order of time; what nobody will ask about any more is dropped
    uint32_t idle_limit; // of their number, before it is tried to drop some
} lane_account;

// Of the intervals of all lanes together, in 64 MiB, and of each lane, if that many are to be kept.
enum { IDLE_ALL = (64 << 20) / sizeof(idle_interval), IDLE_LEAST = 64, IDLE_MOST = 4096 };

struct blame {
    arena *arena;
    uint32_t lanes;
    const uint32_t *multiplicity;
    sim_time start;
    lane_account *accounts;
    uint32_t idle_limit;     // of a lane
    sim_time oldest;         // all lanes are accounted for at least until then
    uint32_t oldest_charges; // since that was found out
    uint32_t parts;
    unsigned __int128 *caused_by_part; // part x BLAME_CAUSES + cause
};

bool blame_is_compute(blame_cause cause)
{
    return cause < BLAME_LAUNCH;
}

blame *blame_create(arena *a, uint32_t lanes, const uint32_t *multiplicity)
{
    blame *b = arena_new(a, blame);
    b->arena = a;
    b->lanes = lanes;
    b->multiplicity = multiplicity;
    b->accounts = arena_array(a, lane_account, lanes);
    const uint32_t share = IDLE_ALL / (lanes > 0 ? lanes : 1);
    b->idle_limit = share < IDLE_LEAST ? IDLE_LEAST : share > IDLE_MOST ? IDLE_MOST : share;
    return b;
}

void blame_set_parts(blame *b, uint32_t parts)
{
    b->parts = parts;
    b->caused_by_part = arena_array(b->arena, unsigned __int128, (size_t)parts *BLAME_CAUSES);
}

void blame_start_step(blame *b, sim_time now)
{
    b->start = b->oldest = now;
    b->oldest_charges = 0;
    if (b->parts) memset(b->caused_by_part, 0, (size_t)b->parts * BLAME_CAUSES * sizeof *b->caused_by_part);
    for (lane_id l = 0; l < b->lanes; l++) {
        lane_account *account = &b->accounts[l];
        account->busy_until = now;
        memset(account->spent, 0, sizeof(account->spent));
        account->bubble = account->peer = 0;
        array_clear(&account->idle);
        account->idle_limit = b->idle_limit;
    }
}

sim_time blame_busy_until(const blame *b, lane_id lane)
{
    return b->accounts[lane].busy_until;
}

void blame_work(blame *b, lane_id lane, sim_time end, const sim_time parts[BLAME_CAUSES])
{
    lane_account *account = &b->accounts[lane];
    sim_time sum = 0;
    for (int cause = 0; cause < BLAME_CAUSES; cause++) {
        account->spent[cause] += parts[cause];
        sum += parts[cause];
    }
    SIM_ASSERT(account->busy_until + sum == end);
    account->busy_until = end;
}

// A look at all lanes for as many charges, so that it costs nothing that counts.
static sim_time oldest_of(blame *b)
{
    if (b->oldest_charges < b->lanes) return b->oldest;
    b->oldest = SIM_TIME_MAX;
    for (lane_id l = 0; l < b->lanes; l++)
        if (b->accounts[l].busy_until < b->oldest) b->oldest = b->accounts[l].busy_until;
    b->oldest_charges = 0;
    return b->oldest;
}

// Whoever still waits asks about times after its own last work, so what ended before all of those is dropped.
static void drop_old(blame *b, lane_account *account)
{
    const sim_time oldest = oldest_of(b);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < account->idle.count; i++)
        if (account->idle.items[i].end > oldest) account->idle.items[kept++] = account->idle.items[i];
    account->idle.count = kept;
    account->idle_limit = 2 * kept > b->idle_limit ? 2 * kept : b->idle_limit;
}

static unsigned __int128 *caused(const blame *b, uint32_t culprit, blame_cause cause)
{
    if (culprit >= b->lanes) return &b->caused_by_part[(size_t)(culprit - b->lanes) * BLAME_CAUSES + cause];
    SIM_ASSERT(cause == BLAME_BUBBLE || cause == BLAME_PEER);
    return cause == BLAME_BUBBLE ? &b->accounts[culprit].bubble : &b->accounts[culprit].peer;
}

static sim_time charge(blame *b, lane_id lane, sim_time end, blame_cause cause, uint32_t culprit,
                       sim_time known)
{
    lane_account *account = &b->accounts[lane];
    const sim_time length = end - account->busy_until;
    if (length <= 0) return 0;
    account->spent[cause] += length;
    if (culprit != NO_ID) *caused(b, culprit, cause) += (unsigned __int128)length * b->multiplicity[lane];
    b->oldest_charges++;
    if (account->idle.count >= account->idle_limit) drop_old(b, account);
    *array_push(&account->idle, b->arena) = (idle_interval){
        .start = account->busy_until, .end = end, .known = known, .culprit = culprit, .cause = (uint8_t)cause
    };
    account->busy_until = end;
    return length;
}

sim_time blame_idle(blame *b, lane_id lane, sim_time end, blame_cause cause, sim_time known)
{
    return charge(b, lane, end, cause, NO_ID, known);
}

sim_time blame_idle_for_part(blame *b, lane_id lane, sim_time end, blame_cause cause, uint32_t part,
                             sim_time known)
{
    SIM_ASSERT(part < b->parts);
    return charge(b, lane, end, cause, b->lanes + part, known);
}

// The first interval of a lane that ends after time.
static uint32_t first_after(const idle_array *idle, sim_time time)
{
    uint32_t low = 0, high = idle->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (idle->items[middle].end <= time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Along the peer's idle intervals: its causes are taken over, or only its culprits (inherits false).
static void charge_along(blame *b, lane_id lane, sim_time end, lane_id peer, lane_id culprit, blame_cause own,
                         bool inherits, sim_time now)
{
    const uint32_t working = culprit == lane ? NO_ID : culprit; // nobody keeps itself waiting
    const idle_array *theirs = &b->accounts[peer].idle;
    for (uint32_t i = first_after(theirs, blame_busy_until(b, lane)); i < theirs->count; i++) {
        const idle_interval interval = theirs->items[i]; // the array may move
        const blame_cause cause = inherits ? (blame_cause)interval.cause : own;
        if (interval.start >= end || interval.known >= now) break;
        charge(b, lane, interval.start < end ? interval.start : end, own, working, now);
        const uint32_t waited_for = interval.culprit == lane ? NO_ID : interval.culprit;
        charge(b, lane, interval.end < end ? interval.end : end, cause, waited_for, now);
    }
    charge(b, lane, end, own, working, now);
}

void blame_idle_for_peer(blame *b, lane_id lane, sim_time end, lane_id peer, lane_id culprit, blame_cause own,
                         sim_time now)
{
    if (peer == lane)
        charge(b, lane, end, BLAME_OTHER, NO_ID, now);
    else
        charge_along(b, lane, end, peer, culprit, own, true, now);
}

void blame_idle_for_stage(blame *b, lane_id lane, sim_time end, lane_id peer, lane_id culprit, sim_time now)
{
    SIM_ASSERT(peer != lane);
    charge_along(b, lane, end, peer, culprit, BLAME_BUBBLE, false, now);
}

void blame_end_step(blame *b, sim_time end)
{
    for (lane_id l = 0; l < b->lanes; l++) {
        const lane_account *account = &b->accounts[l];
        sim_time sum = 0;
        for (int cause = 0; cause < BLAME_CAUSES; cause++)
            sum += account->spent[cause];
        SIM_ASSERT(account->busy_until == end && sum == end - b->start);
    }
}

const sim_time *blame_of_lane(const blame *b, lane_id lane)
{
    return b->accounts[lane].spent;
}

unsigned __int128 blame_caused_by(const blame *b, lane_id lane, blame_cause cause)
{
    return *caused(b, lane, cause);
}

unsigned __int128 blame_caused_by_part(const blame *b, uint32_t part, blame_cause cause)
{
    return *caused(b, b->lanes + part, cause);
}
