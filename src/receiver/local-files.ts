/** The local files of a receiver: one for the spool and the quarantine, or one for each if the options name two folders. */
import { resolve } from 'node:path'
import type { StoreCapabilities } from '../inbox/store.ts'
import { createLocalFile, type LocalFile } from '../local-file/local-file.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'
import type { ResolvedOptions } from './resolve-options.ts'

interface LocalFiles {
  /** Undefined without a spool. */
  readonly spool: LocalFile | undefined
  /** Undefined if the quarantine is in memory. `spool: false` does not disable it, because it must survive a restart. */
  readonly quarantine: LocalFile | undefined
  /** Closes them, after all calls. */
  close(): Promise<void>
}

interface NamedFolder {
  readonly folder: string
  /** For messages. */
  readonly option: string
}

/** Opens nothing. */
export function createLocalFiles(
  { spool: given, quarantine }: Pick<ResolvedOptions, 'spool' | 'quarantine'>,
  { spoolFolder }: StoreCapabilities,
  report: (error: MessagingWebhooksError) => void,
): LocalFiles {
  const files = new Map<string, LocalFile>()
  const beside = namedFolder(spoolFolder, 'the default of `spool`, beside the SQLite store')
  const ofSpool = given === false ? undefined : (namedFolder(given, '`spool`') ?? beside)
  const chosen = quarantine === undefined ? false : quarantine.folder
  const ofQuarantine = chosen === false ? undefined : (namedFolder(chosen, '`quarantine.folder`') ?? ofSpool ?? beside)

  function fileAt(named: NamedFolder | undefined): LocalFile | undefined {
    if (named === undefined) return undefined
    const path = resolve(named.folder)
    const file = files.get(path) ?? createLocalFile({ ...named, report })
    files.set(path, file)
    return file
  }

  return {
    spool: fileAt(ofSpool),
    quarantine: fileAt(ofQuarantine),
    async close() {
      await Promise.all([...files.values()].map((file) => file.close()))
    },
  }
}

function namedFolder(folder: string | false | undefined, option: string): NamedFolder | undefined {
  return folder === undefined || folder === false ? undefined : { folder, option }
}
