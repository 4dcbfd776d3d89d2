/**
 * Events stand in one table, or in partitions by time; see `partitioning.ts`. The functions are the same under the same
 * names, but for what is here, so whoever calls them need not know.
 *
 * Of partitions, each has its own index of identities, and none is over all of them. What makes a repetition one is that
 * every admission to a known message holds the lock on that message, so under the lock it looks itself, from the time of the
 * message's first event on: mostly that is today's partition. An hour is for a clock that was set back across an edge.
 *
 * The indexes of times are partial, so that no such search by an identity can take one of them instead.
 *
 * An event that waits is where it was admitted. What was moved since (settled late, replayed, spared from a drop) is looked
 * for everywhere.
 */
export interface Layout {
  readonly firstColumn: string
  readonly firstValue: string
  readonly declared: string
  readonly findMessage: string
  readonly sinceFirst: string
  readonly lookAgain: string
  readonly unique: string
  readonly asAdmitted: string
  readonly asWaited: string
  readonly keepIdentity: string
  readonly byIndex: string
}

export const ONE_TABLE: Layout = {
  firstColumn: '',
  firstValue: '',
  declared: '',
  findMessage: 'SELECT m.id INTO message_id',
  sinceFirst: '',
  lookAgain: '',
  unique: ' (message, id)',
  asAdmitted: '',
  asWaited: '',
  keepIdentity: `INSERT INTO {schema}.events AS v (message, id, ord, final, since) VALUES (message_id, of_id, '', false, now_ms)
  ON CONFLICT (message, id) DO UPDATE SET since = now_ms;`,
  byIndex: '',
}

const SINCE_FIRST = ' AND v.since BETWEEN least(first_ms, now_ms) AND greatest(first_ms, now_ms + 3600000)'

export const PARTITIONS: Layout = {
  firstColumn: ', first_since',
  firstValue: ', now_ms',
  declared: '\n  first_ms bigint;',
  findMessage: 'SELECT m.id, m.first_since INTO message_id, first_ms',
  sinceFirst: SINCE_FIRST,
  lookAgain: `first_ms := known.first_since;
      IF now_ms < known.first_since THEN
        UPDATE {schema}.messages m SET first_since = now_ms WHERE m.id = message_id;
      END IF;
      -- Another may have admitted it before the lock was ours.
      PERFORM FROM {schema}.events v WHERE v.message = message_id AND v.id = e.id${SINCE_FIRST};
      IF FOUND THEN
        admissions := admissions || 0;
        tokens := tokens || 0::bigint;
        CONTINUE;
      END IF;
      `,
  unique: '',
  asAdmitted: ` AND v.since = head.admitted;
      IF NOT FOUND THEN
        SELECT v.ord, encode(v.record, 'hex') AS record, encode(v.raw, 'hex') AS raw INTO kept
        FROM {schema}.events v WHERE v.message = held.id AND v.id = head.id;
      END IF`,
  asWaited: ` AND v.since = was.admitted;
        IF NOT FOUND THEN
          UPDATE {schema}.events v SET since = now_ms WHERE v.message = known.id AND v.id = s.id;
        END IF`,
  keepIdentity: `UPDATE {schema}.events v SET since = now_ms WHERE v.message = message_id AND v.id = of_id;
  IF NOT FOUND THEN
    INSERT INTO {schema}.events (message, id, ord, final, since) VALUES (message_id, of_id, '', false, now_ms);
  END IF;`,
  byIndex: ' SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off',
}
