/** The local file of the receivers of this machine, running or not. */
import { createLocalFile, type LocalFile } from '../local-file/local-file.ts'
import type { MessagingWebhooksError } from '../public/errors.ts'

interface Place {
  readonly folder: string | undefined
  /** The flag that names the folder, for messages. */
  readonly option: string
  readonly report: (error: MessagingWebhooksError) => void
}

/** Works on the local file in a folder. Resolves to `otherwise` if there is none. */
export async function inLocalFile<T>(
  { folder, option, report }: Place,
  otherwise: T,
  work: (file: LocalFile) => Promise<T>,
): Promise<T> {
  if (folder === undefined) return otherwise
  const file = createLocalFile({ folder, option, report })
  if (!(await file.exists())) return otherwise
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}
