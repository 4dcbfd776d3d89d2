/** What changes in the memory of the quarantine, told at once, so that it can be written down. */
import type { KeptRequest } from './request.ts'

export interface KeeperChanges {
  /** It is kept, or more is known of it; of one id the last call counts. */
  kept(request: KeptRequest): void
  removed(request: KeptRequest): void
  cleared(): void
}

/** For a memory that nobody writes down. */
export const UNTOLD: KeeperChanges = { kept() {}, removed() {}, cleared() {} }
