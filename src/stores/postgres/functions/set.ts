/**
 * The functions that every event passes, and those that mend what was spoilt.
 *
 * Why they are functions. What is done with an event hangs on what the statement before found, under a lock, so as statements
 * each event is a conversation; and a statement that comes as text is planned each time, where a function keeps its plans for
 * as long as the connection. Measured by `npm run bench:functions`, for an event that is new, admitted under a lease and
 * settled: in batches of sixteen the same statements one by one take fifty times the round trips (6.3 an event, for 0.13) and
 * 5.1 times the server's CPU time; prepared under a name, so with plans that are kept, still 2.8 times, and they would need a
 * session, which a pooler does not give. For an event alone it is 10 round trips for 2, and 1.6 times the CPU time as text;
 * prepared they would be a little cheaper there (0.9).
 *
 * Plans. A plan must be good whatever a table held when it was made, so each looks at one row at a time by a key, with one
 * index that can give it (`num_nonnulls` keeps `waiting_turn` from being thought of as another), and the queue is read in the
 * order of its index. Each statement in them sees what was committed before it began, as the locks need.
 *
 * Versions. A set has a number, which each name ends with, and what is released under a number stays as it is: whoever changes
 * a function raises the number. So during a deploy the old package and the new one work on the same tables, each with its own
 * set, which whoever needs it creates beside the other. What both go by is the tables: a set must leave in them what the one
 * before can read, or a migration must come with it. No ledger tells of sets, for the catalog does. Nobody drops one: an owner
 * may, once nothing calls it any more.
 */
import { admit } from './admit.ts'
import { claim } from './claim.ts'
import { damage } from './damage.ts'
import { expect } from './expect.ts'
import { HOLDERS } from './holders.ts'
import { ONE_TABLE, PARTITIONS, type Layout } from './layout.ts'
import { settle } from './settle.ts'
import { UPKEEP } from './upkeep.ts'

/** `{schema}` and `{set}`, the number, are still to be put into the text. */
export interface FunctionSet {
  readonly number: number
  readonly text: string
  /** For a schema whose events are in partitions. */
  readonly partitioned: string
}

const textOf = (layout: Layout): string =>
  HOLDERS + damage(layout) + admit(layout) + claim(layout) + settle(layout) + expect(layout)

export const FUNCTIONS: FunctionSet = { number: 3, text: textOf(ONE_TABLE), partitioned: textOf(PARTITIONS) + UPKEEP }

/** Has a statement mean the functions of this set. */
export function ofSet(statement: string, { number }: Pick<FunctionSet, 'number'>): string {
  return statement.replaceAll('{set}', String(number))
}

/** The names that a schema has where it has this set. */
export function namesOf({ number, text, partitioned }: FunctionSet, isPartitioned: boolean): readonly string[] {
  return [
    ...(isPartitioned ? partitioned : text).matchAll(/^CREATE OR REPLACE FUNCTION \{schema\}\.(\w+)_\{set\}/gm),
  ].map(([, name]) => `${name}_${number}`)
}
