export default {
  serverExternalPackages: ['messaging-webhooks'],
  // The packages are linked from elsewhere, which is within this root.
  turbopack: { root: '/' },
}
