/** Several instances on one store, each of which can be killed and restarted in its place. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startInstance, type Finally, type Instance, type InstanceSettings } from './instance.ts'
import type { StoreSpec } from '../../support/servers/store-spec.ts'
import type { Life } from './verdict.ts'

export type CommonSettings = Omit<InstanceSettings, 'store' | 'authKey' | 'signingSecret' | 'log'>

interface Cluster {
  readonly folder: string
  /** The spool folder of the instance in this place. */
  spoolOf(place: number): string
  /** The running instances, by place. */
  readonly instances: readonly Instance[]
  /** All instances that ran or run. */
  readonly lives: readonly Life[]
  /** kill -9, then starts another instance in its place with the same spool, and with these settings if given. */
  replace(place: number, changed?: CommonSettings): Promise<void>
}

export function temporaryFolder(onFinished: Finally): string {
  const folder = mkdtempSync(join(tmpdir(), 'cluster-'))
  onFinished(async () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** The instances alternate between the clients of the store. Each has a spool of its own, as each machine would; a single one may choose its folder. */
export async function startCluster(
  size: number,
  stores: readonly StoreSpec[],
  settings: CommonSettings,
  onFinished: Finally,
): Promise<Cluster> {
  const folder = temporaryFolder(onFinished)
  const lives: { readonly log: string; wasKilled: boolean; killedNs?: bigint }[] = []

  const spoolOf = (place: number): string => settings.spool ?? join(folder, `spool-${place}`)

  async function start(place: number, changed: CommonSettings = {}): Promise<Instance> {
    const log = join(folder, `handlers-${lives.length}.log`)
    lives.push({ log, wasKilled: false })
    const store = stores[place % stores.length]
    if (store === undefined) throw new Error('A cluster needs a store.')
    return startInstance({ ...settings, ...changed, store, log, spool: spoolOf(place) }, onFinished)
  }

  const instances = await Promise.all(Array.from({ length: size }, (_, place) => start(place)))
  return {
    folder,
    spoolOf,
    instances,
    lives,
    async replace(place, changed) {
      const dying = instances[place]
      const life = lives.find(({ log }) => log === dying?.log)
      if (dying === undefined || life === undefined) throw new Error(`No instance runs in place ${place}.`)
      life.wasKilled = true
      life.killedNs = process.hrtime.bigint()
      await dying.kill()
      instances[place] = await start(place, changed)
    },
  }
}
