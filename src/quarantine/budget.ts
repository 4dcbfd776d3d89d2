/** Chooses what the quarantine evicts, so that forged requests do not displace real ones. */
import type { KeptRequest } from './request.ts'

/** Every documented callback is smaller. */
const SMALL_BYTES = 4 * 1024
/** The share of a budget that one network, or one project name, keeps while others need space. */
const BOUND = 1 / 4
const STAYING = 3 / 4
/** Evicts this much of the budget at once, because each choice examines all requests. */
const FREED = 1 / 16
/** Overhead of a request beyond its bytes and texts; about 900 bytes, measured. */
const BYTES_A_REQUEST = 1_024
/** Greater than any size rank. */
const UNPROVABLE_RANK = 64

/** What a request takes of the budget. */
export function bytesOf({ callback, project }: KeptRequest): number {
  const { captured, signatures, contentEncoding, remoteAddress } = callback
  const texts = signatures.reduce((sum, value) => sum + value.length, contentEncoding?.length ?? 0)
  return captured.bytes.length + texts + (project?.length ?? 0) + (remoteAddress?.length ?? 0) + BYTES_A_REQUEST
}

/**
 * The requests to evict from a full budget, given in order of arrival: first those that no key can prove, then the largest bodies,
 * then those of a network and a project name with too large a share. Of equal ones, the earliest three quarters stay, and then
 * the latest.
 */
export function excessOf(requests: readonly KeptRequest[], maxBytes: number): readonly KeptRequest[] {
  const ofNetwork = shares(requests, maxBytes, ({ callback }) => callback.remoteAddress)
  const ofProject = shares(requests, maxBytes, ({ project }) => project)
  const byRank = Map.groupBy(requests, ({ class: name, callback, project }) => {
    const unprovable = name === 'rest' ? UNPROVABLE_RANK : 0
    const size = Math.max(0, Math.ceil(Math.log2(callback.captured.bytes.length / SMALL_BYTES)))
    return unprovable + size + (ofNetwork(callback.remoteAddress) + ofProject(project)) / 4
  })
  let excess = requests.reduce((sum, request) => sum + bytesOf(request), -maxBytes * (1 - FREED))
  const evicted: KeptRequest[] = []
  for (const [, alike] of [...byRank].sort(([a], [b]) => b - a)) {
    const stay = Math.floor(alike.length * STAYING)
    for (const request of [...alike.slice(stay), ...alike.slice(0, stay).reverse()]) {
      if (excess <= 0) return evicted
      excess -= bytesOf(request)
      evicted.push(request)
    }
  }
  return evicted
}

/** The part of the budget that the requests with the same trait take: 0 up to `BOUND`, and at most 1. */
function shares<T>(requests: readonly KeptRequest[], maxBytes: number, traitOf: (request: KeptRequest) => T) {
  const bytes = new Map<T, number>()
  for (const request of requests) bytes.set(traitOf(request), (bytes.get(traitOf(request)) ?? 0) + bytesOf(request))
  return (trait: T): number => {
    const share = (bytes.get(trait) ?? 0) / maxBytes
    return share > BOUND ? Math.min(share, 1) : 0
  }
}
