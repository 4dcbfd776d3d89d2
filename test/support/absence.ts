/** For parts of a receiver that run alone: nobody hears of the store's comings and goings. */
import type { Absence } from '../../src/inbox/absence.ts'

export const ABSENCE: Absence = { begin() {}, end() {} }
