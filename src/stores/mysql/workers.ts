/** Replaces the list of workers. */
import type { WriteList } from '../sql/workers.ts'
import type { Engine } from './engine.ts'

export function listWriter({ connections: { run }, tables: { workers } }: Engine): WriteList {
  return async (version, list, expected) => {
    const { affected } = await run(
      expected === undefined
        ? `INSERT IGNORE INTO ${workers} (id, version, list) VALUES (1, ${version}, ${list})`
        : `UPDATE ${workers} SET version = ${version}, list = ${list} WHERE id = 1 AND version = ${expected}`,
    )
    return affected > 0
  }
}
