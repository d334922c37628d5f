# mypy: disable-error-code="assignment"
"""Compiled loops of routing. Nothing here checks its input; `routing` does."""

from __future__ import annotations

from typing import Any

import numpy as np

from vef.compiled import kernel

D_MOD_K, HASHED, FIRST = 0, 1, 2
FAR = np.int32(1 << 30)
_MAX_DEPTH = 62
_LARGEST = np.int64(1) << 31


@kernel
def mix(x: Any) -> Any:
    """Scramble 64 bits (the finaliser of splitmix64)."""
    x = np.uint64(x)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@kernel
def pair_hash(seed: Any, src: Any, dst: Any) -> Any:
    """Hash a pair under a seed."""
    x = mix(np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15))
    x = mix(x ^ (np.uint64(src) + np.uint64(0x632BE59BD9B4E019)))
    return mix(x + np.uint64(dst) * np.uint64(0x9E3779B97F4A7C15))


@kernel
def pair_hashes(seed: Any, src: Any, dst: Any) -> Any:
    """Hash many pairs; uint64[n]."""
    out = np.empty(len(src), np.uint64)
    for i in range(len(src)):
        out[i] = pair_hash(seed, src[i], dst[i])
    return out


@kernel
def fill_groups(key: Any, next_place: Any) -> Any:
    """Finish a stable counting sort: the order of `key`, given where each group starts (overwritten)."""
    order = np.empty(len(key), np.int64)
    for i in range(len(key)):
        order[next_place[key[i]]] = i
        next_place[key[i]] += 1
    return order


@kernel
def distances(
    dist: Any, queue: Any, queued: Any, target: Any, first: Any, last: Any, in_ptr: Any, in_from: Any, in_cost: Any
) -> None:
    """Fill dist[switch] = cost of the cheapest way to target[first:last], over links between switches."""
    dist[:] = FAR
    size = len(queue)
    head = tail = count = 0
    for k in range(first, last):
        t = target[k]
        dist[t] = 0
        queue[tail] = t
        queued[t] = True
        tail = (tail + 1) % size
        count += 1
    # Breadth first; where links cost more than 1 a switch may be improved and queued again.
    while count:
        v = queue[head]
        head = (head + 1) % size
        count -= 1
        queued[v] = False
        near = dist[v]
        for i in range(in_ptr[v], in_ptr[v + 1]):
            u, d = in_from[i], near + in_cost[i]
            if d < dist[u]:
                dist[u] = d
                if not queued[u]:
                    queued[u] = True
                    queue[tail] = u
                    tail = (tail + 1) % size
                    count += 1


@kernel
def walk(
    src: Any, dst: Any, order: Any, start: Any, target_ptr: Any, target: Any, hosts: Any,
    port_to: Any, port_from: Any, port_cost: Any, tier: Any, out_ptr: Any, out_ports: Any,
    sw_out_ptr: Any, sw_out_ports: Any, sw_in_ptr: Any, sw_in_from: Any, sw_in_cost: Any,
    host_in_ptr: Any, host_in_ports: Any, rule: Any, seed: Any, first: Any, hops: Any, ports: Any, used: Any,
) -> Any:  # fmt: skip
    """Route pairs from `first` on in `order`, one destination group after the other, until `ports` is full.

    Fills `hops` (in `order`) and `ports`. Returns the next pair, the ports used, and whether that pair cannot
    be routed. One function and one array of candidates, because handing arrays around in the inner loop costs
    more than the work.
    """
    nodes = len(tier)
    dist = np.empty(nodes, np.int32)
    queue = np.empty(nodes + 1, np.int32)
    queued = np.zeros(nodes, np.bool_)
    divisor = np.ones(_MAX_DEPTH + 2, np.int64)
    # The next ports of each switch towards the current group, found when first needed; at the end, room for
    # those of a host and for the last hop.
    scratch = len(sw_out_ports)
    cand = np.empty(scratch + len(out_ports) + 1, np.int32)
    cand_n = np.empty(nodes, np.int32)
    cand_distinct = np.empty(nodes, np.int32)
    known_for = np.full(nodes, -1, np.int64)
    for g in range(len(start) - 1):
        if start[g + 1] <= first or start[g] == start[g + 1]:
            continue
        distances(dist, queue, queued, target, target_ptr[g], target_ptr[g + 1], sw_in_ptr, sw_in_from, sw_in_cost)
        for i in range(max(first, start[g]), start[g + 1]):
            # A shortest route visits no node twice.
            if used + nodes > len(ports):
                return i, used, False
            s, d = src[order[i]], dst[order[i]]
            h = np.uint64(0)
            if rule == HASHED:
                h = pair_hash(seed, s, d)
            to_host = d < hosts
            depth = 0
            divisor[0] = 1
            u = s
            begin = used
            while u != d:
                n = distinct = 0
                at = scratch
                if u < hosts:
                    best = FAR
                    for k in range(out_ptr[u], out_ptr[u + 1]):
                        p = out_ports[k]
                        v = port_to[p]
                        if v == d:
                            c = port_cost[p]
                        elif v >= hosts and dist[v] < FAR:
                            c = port_cost[p] + dist[v] + to_host
                        else:
                            continue
                        if c < best:
                            best = c
                            n = distinct = 0
                        if c == best:
                            distinct += n == 0 or port_to[cand[at + n - 1]] != v
                            cand[at + n] = p
                            n += 1
                elif to_host and dist[u] == 0:
                    distinct = 1
                    for k in range(host_in_ptr[d], host_in_ptr[d + 1]):
                        if port_from[host_in_ports[k]] == u:
                            cand[at + n] = host_in_ports[k]
                            n += 1
                else:
                    at = sw_out_ptr[u]
                    if known_for[u] != g:
                        known_for[u] = g
                        for k in range(at, sw_out_ptr[u + 1]):
                            p = sw_out_ports[k]
                            if dist[port_to[p]] + port_cost[p] == dist[u]:
                                distinct += n == 0 or port_to[cand[at + n - 1]] != port_to[p]
                                cand[at + n] = p
                                n += 1
                        cand_n[u] = n
                        cand_distinct[u] = distinct
                    n = cand_n[u]
                    distinct = cand_distinct[u]
                if n == 0:
                    return i, used, True
                if n > 1 and rule == HASHED:
                    bits = mix(h ^ (np.uint64(u) * np.uint64(0xD6E8FEB86659FD93))) >> np.uint64(32)
                    # Scaling by n is as even as a remainder, without a division.
                    at += np.int64((bits * np.uint64(n)) >> np.uint64(32))
                elif n > 1 and rule == D_MOD_K:
                    # 32-bit divisions take half the time of 64-bit ones.
                    q = np.uint32(d) // np.uint32(divisor[depth])
                    if distinct == n:
                        at += np.int64(q % np.uint32(n))
                    else:
                        # First which neighbour, then which of the parallel links to it.
                        skip = np.int64(q % np.uint32(distinct))
                        end = at + n
                        to = at + 1
                        while True:
                            while to < end and port_to[cand[to]] == port_to[cand[at]]:
                                to += 1
                            if skip == 0:
                                break
                            skip -= 1
                            at = to
                            to += 1
                        at += np.int64((q // np.uint32(distinct)) % np.uint32(to - at))
                p = cand[at]
                v = port_to[p]
                # Each level up takes the next digit of the destination; on the way down the same digits come
                # back, so that parallel links are used as evenly downwards as upwards.
                if u < hosts:
                    divisor[0] = distinct
                elif tier[v] > tier[u]:
                    if depth < _MAX_DEPTH:
                        divisor[depth + 1] = min(divisor[depth] * distinct, _LARGEST)
                        depth += 1
                elif tier[v] < tier[u] and depth > 0:
                    depth -= 1
                ports[used] = p
                used += 1
                u = v
            hops[i] = used - begin
    return len(order), used, False


@kernel
def unsort(order: Any, hops: Any, ports: Any) -> Any:
    """Put routes that lie in `order` back into the order of the pairs: ptr int64[n+1], ports int32[…]."""
    ptr = np.zeros(len(order) + 1, np.int64)
    for i in range(len(order)):
        ptr[order[i] + 1] = hops[i]
    for i in range(len(order)):
        ptr[i + 1] += ptr[i]
    out = np.empty(len(ports), np.int32)
    at = 0
    for i in range(len(order)):
        to = ptr[order[i]]
        for k in range(hops[i]):
            out[to + k] = ports[at + k]
        at += hops[i]
    return ptr, out


@kernel
def join(ptr_a: Any, ports_a: Any, ptr_b: Any, ports_b: Any, port_from: Any, port_to: Any) -> Any:
    """Append each route of b to its route of a, cutting out a detour that comes back to the same node."""
    n = len(ptr_a) - 1
    ptr = np.zeros(n + 1, np.int64)
    out = np.empty(len(ports_a) + len(ports_b), np.int32)
    at = 0
    for i in range(n):
        end_a, begin_b = ptr_a[i + 1], ptr_b[i]
        if ptr_b[i + 1] > ptr_b[i]:
            for x in range(ptr_a[i], ptr_a[i + 1]):
                node = port_from[ports_a[x]]
                back = np.int64(-1)
                for y in range(ptr_b[i], ptr_b[i + 1]):
                    if port_to[ports_b[y]] == node:
                        back = y
                if back >= 0:
                    end_a, begin_b = x, back + 1
                    break
        for x in range(ptr_a[i], end_a):
            out[at] = ports_a[x]
            at += 1
        for y in range(begin_b, ptr_b[i + 1]):
            out[at] = ports_b[y]
            at += 1
        ptr[i + 1] = at
    return ptr, out[:at].copy()


@kernel
def extent(roots: Any, in_ptr: Any, in_from: Any, in_cost: Any, nodes: Any) -> Any:
    """Most links on a cheapest way between two of the root switches; -1 if two are not joined."""
    dist = np.empty(nodes, np.int32)
    queue = np.empty(nodes + 1, np.int32)
    queued = np.zeros(nodes, np.bool_)
    links = np.empty(nodes, np.int32)
    longest = 0
    for r in range(len(roots)):
        distances(dist, queue, queued, roots, r, r + 1, in_ptr, in_from, in_cost)
        order = np.argsort(dist)
        links[:] = FAR
        links[roots[r]] = 0
        for v in order:
            if dist[v] >= FAR:
                break
            for i in range(in_ptr[v], in_ptr[v + 1]):
                u = in_from[i]
                if dist[u] == dist[v] + in_cost[i]:
                    links[u] = min(links[u], links[v] + 1)
        for other in roots:
            if links[other] >= FAR:
                return -1
            longest = max(longest, links[other])
    return longest
