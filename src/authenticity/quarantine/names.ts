/** Whose credentials are looked up first when kept requests are verified again: strangers choose most of the names. */
import type { KeptRequest } from './request.ts'

export type Name = string | undefined

interface Names {
  /** A callback of this project was proved, so the name is none that a stranger made up. */
  proved(name: Name): void
  /** Its look-up took too long, so it must not hold others up again. */
  slow(name: Name): void
  /**
   * The requests by the name that they bear: names that were proved first, then those that most requests bear, and last
   * those whose look-up took too long.
   */
  inOrder(requests: readonly KeptRequest[]): ReadonlyMap<Name, readonly KeptRequest[]>
  isProved(name: Name): boolean
}

const NAMES_KEPT = 256

export function createNames(): Names {
  const proved = new Set<Name>()
  const slow = new Set<Name>()

  function rank(name: Name): number {
    if (proved.has(name)) return 0
    return slow.has(name) ? 2 : 1
  }

  return {
    proved: (name) => addTo(proved, name),
    slow: (name) => addTo(slow, name),
    inOrder(requests) {
      const byName = new Map<Name, KeptRequest[]>()
      for (const request of requests) {
        const known = byName.get(request.project)
        if (known === undefined) byName.set(request.project, [request])
        else known.push(request)
      }
      return new Map([...byName].sort(([a, ofA], [b, ofB]) => rank(a) - rank(b) || ofB.length - ofA.length))
    },
    isProved: (name) => proved.has(name),
  }
}

function addTo(names: Set<Name>, name: Name): void {
  if (names.has(name)) return
  const [oldest] = names
  if (names.size >= NAMES_KEPT) names.delete(oldest)
  names.add(name)
}
