/** What a benchmark compares: a server that takes signed callbacks at its root. */
import type { Server } from 'node:http'

export interface Contender {
  readonly name: string
  readonly server: Server
  /** Throws unless every one of `sent` callbacks, in all rounds so far, came to its end. */
  verify(sent: number): Promise<void>
  close(): Promise<void>
}
