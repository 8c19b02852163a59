package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"attache"
)

// Download fetches a file that came with a message: fileID is its
// attache.Media.FileID, max the most bytes to take. Telegram itself gives bots no
// more than 20 MB. The second value is the MIME type that the bytes show, which
// need not be what the sender said.
//
// A file that is too large is an attache.Error of KindRefused, anything else one
// of KindOutside; neither holds the token.
func (c *Client) Download(ctx context.Context, fileID string, max int64) ([]byte, string, error) {
	var file struct {
		Path string `json:"file_path"`
		Size int64  `json:"file_size"`
	}
	err := c.Call(ctx, "getFile", map[string]string{"file_id": fileID}, &file)
	if e, ok := errors.AsType[*CallError](err); ok && strings.Contains(e.Description, "file is too big") {
		return nil, "", tooBig(max, err)
	}
	if err != nil {
		return nil, "", notFetched(err)
	}
	if file.Size > max {
		return nil, "", tooBig(max, fmt.Errorf("it has %d bytes", file.Size))
	}
	data, err := c.fetchFile(ctx, file.Path, max)
	if err != nil {
		return nil, "", notFetched(err)
	}
	if int64(len(data)) > max {
		return nil, "", tooBig(max, errors.New("it is longer than Telegram said"))
	}
	return data, http.DetectContentType(data), nil
}

// fetchFile reads at most max bytes and one more of a file.
func (c *Client) fetchFile(ctx context.Context, path string, max int64) ([]byte, error) {
	parts := strings.Split(path, "/")
	if path == "" || slices.Contains(parts, "..") {
		return nil, fmt.Errorf("%q is not the path of a file", path)
	}
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	ctx, cancel := context.WithTimeout(ctx, uploadTimeout)
	defer cancel()
	address := c.base + "/file/bot" + c.token.Reveal() + "/" + strings.Join(parts, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, c.broken(err, true)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.broken(err, true)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server of files answered with HTTP %d", resp.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, max+1))
	if err != nil {
		return nil, c.broken(err, true)
	}
	return data, nil
}

func tooBig(max int64, cause error) error {
	return &attache.Error{
		Kind:  attache.KindRefused,
		Say:   fmt.Sprintf("the file is larger than %d MB, which is more than I can take", max>>20),
		Cause: cause,
	}
}

func notFetched(cause error) error {
	return &attache.Error{Kind: attache.KindOutside, Say: "the file could not be fetched from Telegram", Cause: cause}
}
