/** Reads what dead processes left. */
import type { RequestsFile } from './requests-file.ts'
import { scanRequests, type Found } from './scan.ts'

interface LoadOptions {
  /** The files, the oldest first. */
  readonly adopt: () => Promise<readonly RequestsFile[]>
  readonly opened: (file: RequestsFile) => void
  readonly found: (file: RequestsFile, found: Found) => void
  readonly failed: (error: unknown) => void
}

/** Resolves to how many places were damaged. Never rejects: what cannot be read keeps nobody from reading the rest. */
export async function loadLeft({ adopt, opened, found, failed }: LoadOptions): Promise<number> {
  let damages = 0

  async function loadFile(file: RequestsFile): Promise<void> {
    for await (const each of scanRequests(file, () => (damages += 1))) found(file, each)
  }

  try {
    const files = await adopt()
    for (const file of files) opened(file)
    for (const file of files) await loadFile(file).catch(failed)
  } catch (error) {
    failed(error)
  }
  return damages
}
