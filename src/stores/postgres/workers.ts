/** Replaces the list of workers. */
import type { WriteList } from '../sql/workers.ts'
import type { Engine } from './engine.ts'

export function listWriter({ schema, together }: Engine): WriteList {
  return async (version, list, expected) => {
    const [rows = []] = await together(`
INSERT INTO ${schema}.workers AS w (id, version, list) VALUES (1, ${version}, ${list})
ON CONFLICT (id) DO UPDATE SET version = excluded.version, list = excluded.list WHERE w.version = ${expected ?? 'NULL'}
RETURNING w.id;`)
    return rows.length > 0
  }
}
