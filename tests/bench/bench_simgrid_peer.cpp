// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/bench/bench_simgrid_peer.h"
#include <iterator>
#include <set>
#include <simgrid/s4u.hpp>
#include <string>
#include <utility>
#include <vector>

namespace s4u = simgrid::s4u;

namespace
{
struct playing_slot {
    const load_slot *what;
    s4u::Host *from;
    uint32_t started;
    s4u::CommPtr current;
    double *ends_s;
};
} // namespace

struct simgrid_peer {
    const load *what;
    s4u::Engine *engine;
    std::vector<s4u::Host *> hosts;
    std::vector<playing_slot> slots;

    void start(playing_slot *slot)
    {
        slot->current = s4u::Comm::sendto_init(slot->from, hosts[slot->what->to]);
        slot->current->set_payload_size(slot->what->bytes[slot->started++]);
        slot->current->set_data(slot);
        slot->current->vetoable_start();
    }

    void on_completion(s4u::Activity const &activity)
    {
        auto &comm = const_cast<s4u::Comm &>(static_cast<s4u::Comm const &>(activity));
        playing_slot *slot = comm.get_data<playing_slot>();
        slot->ends_s[slot->started - 1] = s4u::Engine::get_clock();
        if (slot->started < what->rounds) start(slot);
    }
};

static s4u::Engine *create_engine(void)
{
    static char name[] = "bench_simgrid", quiet[] = "--log=root.thresh:warning",
                model[] = "--cfg=network/model:CM02", cross[] = "--cfg=network/crosstraffic:0",
                gamma[] = "--cfg=network/TCP-gamma:0";
    static char *arguments[] = { name, quiet, model, cross, gamma, nullptr };
    int count = static_cast<int>(std::size(arguments)) - 1;
    return new s4u::Engine(&count, arguments);
}

static s4u::Link *create_link(s4u::NetZone *zone, const std::string &name, uint64_t rate_mBps)
{
    return zone->create_link(name, static_cast<double>(rate_mBps) * 1e-3)->set_latency(0.0);
}

static void add_route(s4u::NetZone *zone, const s4u::Host *from, const s4u::Host *to,
                      const std::vector<s4u::LinkInRoute> &route)
{
    zone->add_route(from->get_netpoint(), to->get_netpoint(), nullptr, nullptr, route, false);
}

// A rate set on a transfer between hosts is ignored: a cap is a link that the slot has for itself, behind a host of its own.
static s4u::Host *add_capped(s4u::NetZone *zone, uint32_t slot, uint64_t rate_cap_mBps,
                             std::vector<s4u::LinkInRoute> *route)
{
    const std::string name = "cap" + std::to_string(slot);
    route->emplace(route->begin(), create_link(zone, name + "-link", rate_cap_mBps));
    return zone->create_host(name, 1e9);
}

simgrid_peer *simgrid_create(const load *l)
{
    auto *peer = new simgrid_peer{ l, create_engine(), {}, {} };
    s4u::NetZone *zone = s4u::create_full_zone("zone");
    std::vector<s4u::Link *> links;
    for (uint32_t i = 0; i < l->links; i++)
        links.push_back(create_link(zone, "link" + std::to_string(i), l->link_mBps[i]));
    for (uint32_t i = 0; i < l->hosts; i++)
        peer->hosts.push_back(zone->create_host("host" + std::to_string(i), 1e9));
    std::set<std::pair<s4u::Host *, uint32_t>> routed; // only asked whether something is in it
    for (uint32_t i = 0; i < l->slots; i++) {
        const load_slot *slot = &l->slot[i];
        s4u::Host *from = peer->hosts[slot->from];
        std::vector<s4u::LinkInRoute> route;
        for (uint32_t hop = 0; hop < slot->path_links; hop++)
            route.emplace_back(links[slot->path[hop]]);
        if (slot->rate_cap_mBps) from = add_capped(zone, i, slot->rate_cap_mBps, &route);
        if (routed.insert({ from, slot->to }).second) add_route(zone, from, peer->hosts[slot->to], route);
        peer->slots.push_back({ slot, from, 0, nullptr, nullptr });
    }
    zone->seal();
    s4u::Activity::on_completion_cb([peer](s4u::Activity const &activity) { peer->on_completion(activity); });
    return peer;
}

void simgrid_play(simgrid_peer *peer, double *ends_s)
{
    for (playing_slot &slot : peer->slots) {
        slot.ends_s = ends_s;
        ends_s += peer->what->rounds;
    }
    for (playing_slot &slot : peer->slots)
        peer->start(&slot);
    peer->engine->run();
}
