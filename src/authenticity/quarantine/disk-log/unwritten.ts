/** What is still to be written: of each request its newest state, the most precious classes first. */
import { QUARANTINE_CLASSES, type KeptRequest } from '../request.ts'

interface Unwritten {
  add(request: KeptRequest): void
  has(id: string): boolean
  remove(id: string): void
  clear(): void
  /** Takes the next out, of about so many bytes. */
  take(bytes: number): readonly KeptRequest[]
  all(): readonly KeptRequest[]
  readonly size: number
}

/** What a request takes beside its body, about. */
const BYTES_A_REQUEST = 512

export function createUnwritten(): Unwritten {
  const classes = QUARANTINE_CLASSES.map((name) => ({ name, byId: new Map<string, KeptRequest>() }))

  function remove(id: string): void {
    for (const { byId } of classes) byId.delete(id)
  }

  return {
    add(request) {
      remove(request.id)
      classes.find(({ name }) => name === request.class)?.byId.set(request.id, request)
    },
    has: (id) => classes.some(({ byId }) => byId.has(id)),
    remove,
    clear() {
      for (const { byId } of classes) byId.clear()
    },
    take(bytes) {
      const taken: KeptRequest[] = []
      let left = bytes
      for (const { byId } of classes)
        for (const request of byId.values()) {
          if (left <= 0) return taken
          left -= request.callback.captured.bytes.length + BYTES_A_REQUEST
          byId.delete(request.id)
          taken.push(request)
        }
      return taken
    },
    all: () => classes.flatMap(({ byId }) => [...byId.values()]),
    get size() {
      return classes.reduce((sum, { byId }) => sum + byId.size, 0)
    },
  }
}
